#include "trireme/archive/hdf5_array.hpp"

#include <hdf5.h>

#include <array>
#include <utility>

#include "archive/free_space.hpp"

namespace trireme::archive::hdf5 {
namespace {

hid_t file_type(StoredType type) {
    if (type == StoredType::f32) return H5T_IEEE_F32LE;
    if (type == StoredType::f64) return H5T_IEEE_F64LE;
    if (type == StoredType::u8) return H5T_STD_U8LE;
    throw BugError(cat("an array of ", name_of(type)));
}

Handle space_of(const std::vector<std::uint64_t>& shape, const std::string& what) {
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    const hid_t space = extents.empty()
                            ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    return Handle(check_hdf5(space, what, free_space), H5Sclose);
}

Handle create_dataset(hid_t file, const std::string& name, StoredType type, const Handle& space,
                      const Handle& create) {
    const std::string what = cat("cannot create ", name);
    const Handle link(check_hdf5(H5Pcreate(H5P_LINK_CREATE), what, free_space), H5Pclose);
    check_hdf5(H5Pset_create_intermediate_group(link.get(), 1), what, free_space);
    return Handle(check_hdf5(H5Dcreate2(file, name.c_str(), file_type(type), space.get(), link.get(),
                                        create.get(), H5P_DEFAULT),
                             what, free_space),
                  H5Dclose);
}

// Reads type, shape and offset of a dataset and checks them.
class ArrayReader {
public:
    ArrayReader(hid_t file, const std::string& name, const std::filesystem::path& path, std::string_view next)
        : what_(cat(name, " of ", path.string())), next_(next) {
        dataset_ = Handle(check(H5Dopen2(file, name.c_str(), H5P_DEFAULT)), H5Dclose);
    }

    Array read() && {
        Array array{.type = type(), .shape = shape()};
        const haddr_t offset = H5Dget_offset(dataset_.get());
        if (offset == HADDR_UNDEF && array.bytes() > 0) refuse("is not in one piece of the file");
        array.offset = array.bytes() > 0 ? offset : 0;
        array.dataset = std::move(dataset_);
        return array;
    }

private:
    [[noreturn]] void refuse(std::string_view fault) const {
        throw ConfigError(cat(what_, ' ', fault, "; ", next_));
    }

    template <class Result>
    Result check(Result result) const {
        return check_hdf5<ConfigError>(result, cat("cannot read ", what_), next_);
    }

    StoredType type() const {
        const Handle type(check(H5Dget_type(dataset_.get())), H5Tclose);
        for (const StoredType known : {StoredType::f32, StoredType::f64, StoredType::u8})
            if (H5Tequal(type.get(), file_type(known)) > 0) return known;
        refuse("holds neither floating-point numbers nor bytes");
    }

    std::vector<std::uint64_t> shape() const {
        const Handle space(check(H5Dget_space(dataset_.get())), H5Sclose);
        std::array<hsize_t, H5S_MAX_RANK> extents{};
        const int axes = check(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr));
        std::uint64_t bytes = sizeof(double);
        for (int axis = 0; axis < axes; ++axis)
            if (__builtin_mul_overflow(bytes, extents[static_cast<std::size_t>(axis)], &bytes))
                refuse("has more elements than can be counted");
        return {extents.begin(), extents.begin() + axes};
    }

    std::string what_;
    std::string_view next_;
    Handle dataset_;
};

}  // namespace

std::uint64_t Array::bytes() const {
    std::uint64_t bytes = bytes_of(type);
    for (const std::uint64_t extent : shape) bytes *= extent;
    return bytes;
}

Array create_array(Id file, const std::string& name, StoredType type, const std::vector<std::uint64_t>& shape) {
    const std::string what = cat("cannot create ", name);
    const Handle create(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), what, free_space), H5Pclose);
    check_hdf5(H5Pset_layout(create.get(), H5D_CONTIGUOUS), what, free_space);
    check_hdf5(H5Pset_alloc_time(create.get(), H5D_ALLOC_TIME_EARLY), what, free_space);
    check_hdf5(H5Pset_fill_time(create.get(), H5D_FILL_TIME_NEVER), what, free_space);
    Array array{.type = type, .shape = shape};
    array.dataset = create_dataset(file, name, type, space_of(shape, what), create);
    const haddr_t offset = H5Dget_offset(array.dataset.get());
    if (offset == HADDR_UNDEF && array.bytes() > 0) throw BugError(cat(name, " has no place in its file"));
    array.offset = array.bytes() > 0 ? offset : 0;
    return array;
}

Array open_array(Id file, const std::filesystem::path& path, const std::string& name, std::string_view next) {
    return ArrayReader(file, name, path, next).read();
}

void create_virtual_array(Id file, const std::string& name, StoredType type,
                          const std::vector<std::uint64_t>& shape, const std::vector<VirtualBox>& boxes) {
    const std::string what = cat("cannot create ", name);
    const Handle create(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), what, free_space), H5Pclose);
    const Handle space = space_of(shape, what);
    for (const VirtualBox& box : boxes) {
        const Handle source = space_of(box.shape, what);
        if (!shape.empty()) {
            const std::vector<hsize_t> offset(box.offset.begin(), box.offset.end());
            const std::vector<hsize_t> extent(box.extent.begin(), box.extent.end());
            check_hdf5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset.data(), nullptr, extent.data(),
                                           nullptr),
                       what, free_space);
        }
        check_hdf5(
            H5Pset_virtual(create.get(), space.get(), box.file.c_str(), box.dataset.c_str(), source.get()),
            what, free_space);
    }
    create_dataset(file, name, type, space, create);
}

}  // namespace trireme::archive::hdf5
