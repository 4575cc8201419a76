#include "trireme/archive/hdf5_array.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <utility>

#include "archive/free_space.hpp"
#include "trireme/archive/hdf5_file.hpp"

namespace trireme::hdf5 {
namespace {

constexpr std::size_t sha256_digits = 64;

hid_t file_type(StoredType type) {
    if (type == StoredType::f32) return H5T_IEEE_F32LE;
    if (type == StoredType::f64) return H5T_IEEE_F64LE;
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

Handle create_contiguous(hid_t file, const std::string& name, const Array& array) {
    const std::string what = cat("cannot create ", name);
    const Handle create(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), what, free_space), H5Pclose);
    check_hdf5(H5Pset_layout(create.get(), H5D_CONTIGUOUS), what, free_space);
    check_hdf5(H5Pset_alloc_time(create.get(), H5D_ALLOC_TIME_EARLY), what, free_space);
    check_hdf5(H5Pset_fill_time(create.get(), H5D_FILL_TIME_NEVER), what, free_space);
    return create_dataset(file, name, array.type, space_of(array.shape, what), create);
}

// What one dataset of a group says of itself.
class ArrayReader {
public:
    ArrayReader(hid_t group, std::string name, const std::filesystem::path& path, std::string_view next)
        : name_(std::move(name)), what_(cat(name_, " of ", path.string())), next_(next) {
        dataset_ = Handle(check(H5Dopen2(group, name_.c_str(), H5P_DEFAULT)), H5Dclose);
    }

    Array read() const {
        Array array;
        array.name = name_;
        array.type = type();
        array.shape = shape();
        const haddr_t offset = H5Dget_offset(dataset_.get());
        if (offset == HADDR_UNDEF && array.bytes() > 0) refuse("is not in one piece of the file");
        array.offset = array.bytes() > 0 ? offset : 0;
        array.sha256 = read_text(dataset_.get(), "sha256").value_or("");
        if (array.sha256.size() != sha256_digits) refuse("has no checksum");
        const auto source = stored_type_named(read_text(dataset_.get(), "source").value_or(""));
        if (!source) refuse("does not say which type its values come from");
        array.source = *source;
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
        if (H5Tequal(type.get(), H5T_IEEE_F32LE) > 0) return StoredType::f32;
        if (H5Tequal(type.get(), H5T_IEEE_F64LE) > 0) return StoredType::f64;
        refuse("holds neither 32-bit nor 64-bit floating-point numbers");
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

    std::string name_;
    std::string what_;
    std::string_view next_;
    Handle dataset_;
};

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

// In the order in which they lie: to sort them, HDF5 makes a table, which it frees wrongly where a link is
// damaged.
std::vector<std::string> names_in(hid_t group, const std::string& what, std::string_view next) {
    std::vector<std::string> names;
    hsize_t first = 0;
    check_hdf5<ConfigError>(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &first, add_name, &names), what,
                            next);
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace

std::uint64_t Array::bytes() const {
    std::uint64_t bytes = bytes_of(type);
    for (const std::uint64_t extent : shape) bytes *= extent;
    return bytes;
}

ArrayWriter::ArrayWriter(Id file, std::string name, const Array& array)
    : name_(std::move(name)), dataset_(create_contiguous(file, name_, array)) {
    write_text(dataset_.get(), "source", name_of(array.source));
}

std::uint64_t ArrayWriter::offset() const {
    const haddr_t offset = H5Dget_offset(dataset_.get());
    if (offset == HADDR_UNDEF) throw BugError(cat(name_, " has no place in its file"));
    return offset;
}

void ArrayWriter::write(std::span<const std::byte> values) {
    const std::string what = cat("cannot write ", name_);
    const Handle type(check_hdf5(H5Dget_type(dataset_.get()), what, free_space), H5Tclose);
    if (values.size() != H5Tget_size(type.get()) * elements())
        throw BugError(cat(name_, " was given ", values.size(), " bytes"));
    check_hdf5(H5Dwrite(dataset_.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what,
               free_space);
}

std::uint64_t ArrayWriter::elements() const {
    const std::string what = cat("cannot write ", name_);
    const Handle space(check_hdf5(H5Dget_space(dataset_.get()), what, free_space), H5Sclose);
    return static_cast<std::uint64_t>(check_hdf5(H5Sget_simple_extent_npoints(space.get()), what, free_space));
}

void ArrayWriter::finish(const std::string& sha256) {
    write_text(dataset_.get(), "sha256", sha256);
    // Before closing: a close that fails for want of space leaves HDF5 unfit to close the file.
    check_hdf5(H5Dflush(dataset_.get()), cat("cannot write ", name_), free_space);
    dataset_.close();
}

std::vector<Array> read_arrays(Id file, const std::filesystem::path& path, const std::string& group,
                               std::string_view next) {
    const std::string what = cat("cannot read ", group, " of ", path.string());
    const Handle opened(check_hdf5<ConfigError>(H5Gopen2(file, group.c_str(), H5P_DEFAULT), what, next),
                        H5Gclose);
    std::vector<Array> arrays;
    for (std::string& name : names_in(opened.get(), what, next))
        arrays.push_back(ArrayReader(opened.get(), std::move(name), path, next).read());
    return arrays;
}

void create_virtual_array(Id file, const std::string& name, StoredType type,
                          const std::vector<std::uint64_t>& shape, const std::vector<VirtualBox>& boxes) {
    const std::string what = cat("cannot create ", name);
    const Handle create(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), what, free_space), H5Pclose);
    const Handle space = space_of(shape, what);
    for (const VirtualBox& box : boxes) {
        const Handle source = space_of(box.extent, what);
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

}  // namespace trireme::hdf5
