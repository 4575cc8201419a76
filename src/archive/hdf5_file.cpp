#include "trireme/archive/hdf5_file.hpp"

#include <hdf5.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "archive/file_writing.hpp"
#include "archive/free_space.hpp"
#include "trireme/archive/positioned_file.hpp"

namespace trireme::archive::hdf5 {
namespace {

// Returns a fixed-length text type. Such texts lie in the object's header, which has a checksum. Texts of
// variable length lie in HDF5's global heap, which has none: one flipped bit there crashes the library.
Handle text_type(std::size_t length) {
    constexpr std::string_view what = "cannot make a text type";
    Handle type(check_hdf5(H5Tcopy(H5T_C_S1), what, free_space), H5Tclose);
    check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(length, 1)), what, free_space);
    check_hdf5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), what, free_space);
    check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), what, free_space);
    return type;
}

void write_scalar(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type,
                  const void* value) {
    const std::string what = cat("cannot write the attribute '", name, "'");
    const Handle space(check_hdf5(H5Screate(H5S_SCALAR), what, free_space), H5Sclose);
    const Handle attribute(
        check_hdf5(H5Acreate2(object, name.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT), what,
                   free_space),
        H5Aclose);
    check_hdf5(H5Awrite(attribute.get(), memory_type, value), what, free_space);
}

// Disables file locks, because HDF5 would refuse to open files on cluster file systems without locks. No lock
// is needed: a file gets its final name only when it is complete, and is not written afterwards.
herr_t leave_out_locks(hid_t access) {
#if H5_VERSION_GE(1, 10, 7)
    return H5Pset_file_locking(access, false, true);
#else
    return access < 0 ? -1 : 0;
#endif
}

// Returns the access properties for writing.
Handle access_to_write(const std::string& what) {
    Handle access(check_hdf5(H5Pcreate(H5P_FILE_ACCESS), what, free_space), H5Pclose);
    check_hdf5(leave_out_locks(access.get()), what, free_space);
    check_hdf5(H5Pset_fapl_sec2(access.get()), what, free_space);
    check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), what, free_space);
    return access;
}

void write_scalar_again(hid_t object, const std::string& name, hid_t memory_type, const void* value) {
    const std::string what = cat("cannot write the attribute '", name, "'");
    const Handle attribute(check_hdf5(H5Aopen(object, name.c_str(), H5P_DEFAULT), what, free_space), H5Aclose);
    check_hdf5(H5Awrite(attribute.get(), memory_type, value), what, free_space);
}

// Returns the attribute if it exists, is a scalar and has the class `wanted`.
std::optional<Handle> open_scalar(hid_t object, const std::string& name, H5T_class_t wanted) {
    if (H5Aexists(object, name.c_str()) <= 0) return std::nullopt;
    Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (attribute.get() < 0) return std::nullopt;
    const Handle space(H5Aget_space(attribute.get()), H5Sclose);
    const Handle type(H5Aget_type(attribute.get()), H5Tclose);
    if (space.get() < 0 || type.get() < 0) return std::nullopt;
    if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_class(type.get()) != wanted)
        return std::nullopt;
    if (wanted == H5T_STRING && H5Tis_variable_str(type.get()) != 0) return std::nullopt;
    return attribute;
}

}  // namespace

Handle open_read_only(const std::filesystem::path& path, std::string_view next) {
    silence();
    const PositionedFile readable(path);  // rejects pipes, at which HDF5 would block
    const std::string what = cat(path.string(), " cannot be opened: it is cut short or damaged");
    const Handle access(check_hdf5<ConfigError>(H5Pcreate(H5P_FILE_ACCESS), what, next), H5Pclose);
    check_hdf5<ConfigError>(leave_out_locks(access.get()), what, next);
    return Handle(check_hdf5<ConfigError>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), what, next),
                  H5Fclose);
}

Handle create_file(const std::filesystem::path& path, std::uint64_t metadata_bytes) {
    silence();
    const std::string what = cat("cannot create ", whole_path(path).string());
    const Handle access = access_to_write(what);
    if (metadata_bytes > 0) {
        check_hdf5(H5Pset_meta_block_size(access.get(), metadata_bytes), what, free_space);
    }
    return Handle(
        check_hdf5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), what, free_space),
        H5Fclose);
}

std::uint64_t metadata_bytes_of(std::size_t datasets) {
    constexpr std::uint64_t of_file = 64 << 10;
    constexpr std::uint64_t of_dataset = 4 << 10;  // its header, attributes and link
    return datasets == 0 ? 0 : of_file + datasets * of_dataset;
}

Handle open_again(const std::filesystem::path& path) {
    silence();
    const std::string what = cat("cannot open ", whole_path(path).string());
    const Handle access = access_to_write(what);
    return Handle(check_hdf5(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), what, free_space), H5Fclose);
}

std::uint64_t flush(const Handle& file) {
    constexpr std::string_view what = "cannot write the file";
    check_hdf5(H5Fflush(file.get(), H5F_SCOPE_LOCAL), what, free_space);
    hsize_t size = 0;
    check_hdf5(H5Fget_filesize(file.get(), &size), what, free_space);
    return size;
}

void abandon(const Handle& file) noexcept {
    void* descriptor = nullptr;
    if (file.get() < 0 || H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &descriptor) < 0) return;
    const int nowhere = ::memfd_create("abandoned", 0);  // closing truncates, which /dev/null rejects
    if (nowhere < 0) return;
    ::dup2(nowhere, *static_cast<const int*>(descriptor));
    ::close(nowhere);
}

void write_text(hid_t object, const std::string& name, const std::string& value) {
    const Handle type = text_type(value.size());
    write_scalar(object, name, type.get(), type.get(), value.c_str());  // an empty text is its final zero
}

void write_number(hid_t object, const std::string& name, std::uint64_t value) {
    write_scalar(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

void write_numbers(hid_t object, const std::string& name, std::span<const std::uint64_t> values) {
    const std::string what = cat("cannot write the attribute '", name, "'");
    const hsize_t count = values.size();
    const Handle space(check_hdf5(H5Screate_simple(1, &count, nullptr), what, free_space), H5Sclose);
    const Handle attribute(
        check_hdf5(H5Acreate2(object, name.c_str(), H5T_STD_U64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), what,
                   free_space),
        H5Aclose);
    check_hdf5(H5Awrite(attribute.get(), H5T_NATIVE_UINT64, values.data()), what, free_space);
}

void write_text_again(hid_t object, const std::string& name, const std::string& value) {
    const Handle type = text_type(value.size());
    write_scalar_again(object, name, type.get(), value.c_str());
}

void write_number_again(hid_t object, const std::string& name, std::uint64_t value) {
    write_scalar_again(object, name, H5T_NATIVE_UINT64, &value);
}

std::optional<std::string> read_text(hid_t object, const std::string& name) {
    const std::optional<Handle> attribute = open_scalar(object, name, H5T_STRING);
    if (!attribute) return std::nullopt;
    const Handle type(H5Aget_type(attribute->get()), H5Tclose);
    std::string value(H5Tget_size(type.get()), '\0');
    if (H5Aread(attribute->get(), type.get(), value.data()) < 0) return std::nullopt;
    value.resize(std::min(value.size(), value.find('\0')));
    return value;
}

std::optional<std::uint64_t> read_number(hid_t object, const std::string& name) {
    const std::optional<Handle> attribute = open_scalar(object, name, H5T_INTEGER);
    std::uint64_t value = 0;
    if (!attribute || H5Aread(attribute->get(), H5T_NATIVE_UINT64, &value) < 0) return std::nullopt;
    return value;
}

std::vector<std::uint64_t> read_numbers(hid_t object, const std::string& name) {
    if (H5Aexists(object, name.c_str()) <= 0) return {};
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (attribute.get() < 0) return {};
    const Handle space(H5Aget_space(attribute.get()), H5Sclose);
    const Handle type(H5Aget_type(attribute.get()), H5Tclose);
    hsize_t count = 0;
    if (space.get() < 0 || type.get() < 0 || H5Tget_class(type.get()) != H5T_INTEGER) return {};
    if (H5Sget_simple_extent_ndims(space.get()) != 1) return {};
    constexpr hsize_t most = 64;  // more than any attribute of Trireme has
    if (H5Sget_simple_extent_dims(space.get(), &count, nullptr) < 0 || count > most) return {};
    std::vector<std::uint64_t> values(count);
    if (H5Aread(attribute.get(), H5T_NATIVE_UINT64, values.data()) < 0) return {};
    return values;
}

}  // namespace trireme::archive::hdf5
