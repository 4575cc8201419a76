#include "trireme/archive/hdf5_array.hpp"

#include <hdf5.h>

#include <array>
#include <utility>

#include "archive/hdf5_advice.hpp"

namespace trireme::archive::hdf5 {
namespace {

hid_t find_file_type(StoredType type) {
    if (type == StoredType::f32) return H5T_IEEE_F32LE;
    if (type == StoredType::f64) return H5T_IEEE_F64LE;
    if (type == StoredType::u64) return H5T_STD_U64LE;
    if (type == StoredType::u8) return H5T_STD_U8LE;
    throw BugError(cat("cannot store an array of type ", to_string(type)));
}

Handle make_dataspace(const std::vector<std::uint64_t>& shape, const std::string& what) {
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    const hid_t space = extents.empty()
                            ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    return Handle(check_hdf5(space, what, check_space_advice), H5Sclose);
}

Handle create_dataset(hid_t file, const std::string& name, StoredType type, const Handle& space,
                      const Handle& properties) {
    const std::string what = cat("cannot create ", name);
    const Handle link_properties(check_hdf5(H5Pcreate(H5P_LINK_CREATE), what, check_space_advice), H5Pclose);
    check_hdf5(H5Pset_create_intermediate_group(link_properties.get(), 1), what, check_space_advice);
    return Handle(check_hdf5(H5Dcreate2(file, name.c_str(), find_file_type(type), space.get(),
                                        link_properties.get(), properties.get(), H5P_DEFAULT),
                             what, check_space_advice),
                  H5Dclose);
}

// Opens a dataset, and reads and checks its type, shape and offset.
class ArrayReader {
public:
    ArrayReader(hid_t file, const std::string& name, const std::filesystem::path& path, std::string_view advice)
        : what_(cat(name, " of ", path.string())), advice_(advice) {
        dataset_ = Handle(check(H5Dopen2(file, name.c_str(), H5P_DEFAULT)), H5Dclose);
    }

    Array read() && {
        Array array{.type = read_type(), .shape = read_shape()};
        const haddr_t offset = H5Dget_offset(dataset_.get());
        if (offset == HADDR_UNDEF && array.count_bytes() > 0) refuse("is not stored contiguously");
        array.offset = array.count_bytes() > 0 ? offset : 0;  // an array without elements has no offset
        array.dataset = std::move(dataset_);
        return array;
    }

private:
    [[noreturn]] void refuse(std::string_view fault) const {
        throw ConfigError(cat(what_, ' ', fault, "; ", advice_));
    }

    template <class Result>
    Result check(Result result) const {
        return check_hdf5<ConfigError>(result, cat("cannot read ", what_), advice_);
    }

    StoredType read_type() const {
        const Handle type(check(H5Dget_type(dataset_.get())), H5Tclose);
        for (const StoredType candidate : {StoredType::f32, StoredType::f64, StoredType::u64, StoredType::u8})
            if (H5Tequal(type.get(), find_file_type(candidate)) > 0) return candidate;
        refuse("has an element type other than F32, F64, U64 and U8");
    }

    std::vector<std::uint64_t> read_shape() const {
        const Handle space(check(H5Dget_space(dataset_.get())), H5Sclose);
        std::array<hsize_t, H5S_MAX_RANK> extents{};
        const int axes = check(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr));
        std::uint64_t bytes = sizeof(double);  // upper bound: the array's size with the largest element type
        for (int axis = 0; axis < axes; ++axis)
            if (__builtin_mul_overflow(bytes, extents[static_cast<std::size_t>(axis)], &bytes))
                refuse("has more elements than 64 bits can count");
        return {extents.begin(), extents.begin() + axes};
    }

    std::string what_;
    std::string_view advice_;
    Handle dataset_;
};

}  // namespace

std::uint64_t Array::count_bytes() const {
    std::uint64_t bytes = byte_size(type);
    for (const std::uint64_t extent : shape) bytes *= extent;
    return bytes;
}

bool has_array(Id file, const std::string& name) { return H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0; }

Array create_array(Id file, const std::string& name, StoredType type, const std::vector<std::uint64_t>& shape) {
    const std::string what = cat("cannot create ", name);
    const Handle properties(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), what, check_space_advice), H5Pclose);
    check_hdf5(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), what, check_space_advice);
    check_hdf5(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), what, check_space_advice);
    check_hdf5(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), what, check_space_advice);
    Array array{.type = type, .shape = shape};
    array.dataset = create_dataset(file, name, type, make_dataspace(shape, what), properties);
    const haddr_t offset = H5Dget_offset(array.dataset.get());
    if (offset == HADDR_UNDEF && array.count_bytes() > 0)
        throw BugError(cat("HDF5 gave no file offset for the array ", name));
    array.offset = array.count_bytes() > 0 ? offset : 0;
    return array;
}

Array open_array(Id file, const std::filesystem::path& path, const std::string& name, std::string_view advice) {
    return ArrayReader(file, name, path, advice).read();
}

void create_virtual_array(Id file, const std::string& name, StoredType type,
                          const std::vector<std::uint64_t>& shape, const std::vector<VirtualBox>& boxes) {
    const std::string what = cat("cannot create ", name);
    const Handle properties(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), what, check_space_advice), H5Pclose);
    const Handle space = make_dataspace(shape, what);
    for (const VirtualBox& box : boxes) {
        const Handle source = make_dataspace(box.shape, what);
        if (!shape.empty()) {
            const std::vector<hsize_t> offset(box.offset.begin(), box.offset.end());
            const std::vector<hsize_t> extent(box.extent.begin(), box.extent.end());
            check_hdf5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset.data(), nullptr, extent.data(),
                                           nullptr),
                       what, check_space_advice);
        }
        check_hdf5(
            H5Pset_virtual(properties.get(), space.get(), box.file.c_str(), box.dataset.c_str(), source.get()),
            what, check_space_advice);
    }
    create_dataset(file, name, type, space, properties);
}

}  // namespace trireme::archive::hdf5
