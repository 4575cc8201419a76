#include "trireme/archive/hdf5_file.hpp"

#include <hdf5.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "archive/file_writing.hpp"
#include "archive/hdf5_advice.hpp"
#include "trireme/archive/positioned_file.hpp"

namespace trireme::archive::hdf5 {
namespace {

// Returns the type of texts of `length` bytes. HDF5 stores texts of fixed length in the header of the object,
// which has a checksum. It stores texts of variable length in its global heap, which has no checksum: one
// flipped bit there crashes the library.
Handle make_text_type(std::size_t length) {
    constexpr std::string_view what = "cannot create the HDF5 type of a text";
    Handle type(check_hdf5(H5Tcopy(H5T_C_S1), what, check_space_advice), H5Tclose);
    check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(length, 1)), what, check_space_advice);
    check_hdf5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), what, check_space_advice);
    check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), what, check_space_advice);
    return type;
}

void write_scalar(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type,
                  const void* value) {
    const std::string what = cat("cannot write the attribute '", name, "'");
    const Handle space(check_hdf5(H5Screate(H5S_SCALAR), what, check_space_advice), H5Sclose);
    const Handle attribute(
        check_hdf5(H5Acreate2(object, name.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT), what,
                   check_space_advice),
        H5Aclose);
    check_hdf5(H5Awrite(attribute.get(), memory_type, value), what, check_space_advice);
}

// Disables file locks: with them, HDF5 would refuse to open files on file systems that have no locks, as on
// some clusters. No lock is needed, because a file gets its final name when it is complete and is not written
// after that.
herr_t disable_locks(hid_t access) {
#if H5_VERSION_GE(1, 10, 7)
    return H5Pset_file_locking(access, false, true);
#else
    // Older versions have no such property.
    return access < 0 ? -1 : 0;
#endif
}

// Returns the properties with which files are created and opened for writing.
Handle make_write_access(const std::string& what) {
    Handle access(check_hdf5(H5Pcreate(H5P_FILE_ACCESS), what, check_space_advice), H5Pclose);
    check_hdf5(disable_locks(access.get()), what, check_space_advice);
    check_hdf5(H5Pset_fapl_sec2(access.get()), what, check_space_advice);
    check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), what, check_space_advice);
    return access;
}

void overwrite_scalar(hid_t object, const std::string& name, hid_t memory_type, const void* value) {
    const std::string what = cat("cannot write the attribute '", name, "'");
    const Handle attribute(check_hdf5(H5Aopen(object, name.c_str(), H5P_DEFAULT), what, check_space_advice),
                           H5Aclose);
    check_hdf5(H5Awrite(attribute.get(), memory_type, value), what, check_space_advice);
}

// Returns the attribute `name` if it exists, is a scalar and has the class `type_class`, or else nullopt. A
// text must also have a fixed length.
std::optional<Handle> open_scalar(hid_t object, const std::string& name, H5T_class_t type_class) {
    if (H5Aexists(object, name.c_str()) <= 0) return std::nullopt;
    Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (attribute.get() < 0) return std::nullopt;
    const Handle space(H5Aget_space(attribute.get()), H5Sclose);
    const Handle type(H5Aget_type(attribute.get()), H5Tclose);
    if (space.get() < 0 || type.get() < 0) return std::nullopt;
    if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_class(type.get()) != type_class)
        return std::nullopt;
    if (type_class == H5T_STRING && H5Tis_variable_str(type.get()) != 0) return std::nullopt;
    return attribute;
}

}  // namespace

Handle open_read_only(const std::filesystem::path& path, std::string_view advice) {
    silence_errors();
    const PositionedFile regular_file(path);  // rejects pipes, at which HDF5 would block
    const std::string what = cat(path.string(), " is cut short, damaged or not an HDF5 file");
    const Handle access(check_hdf5<ConfigError>(H5Pcreate(H5P_FILE_ACCESS), what, advice), H5Pclose);
    check_hdf5<ConfigError>(disable_locks(access.get()), what, advice);
    return Handle(check_hdf5<ConfigError>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), what, advice),
                  H5Fclose);
}

Handle create_file(const std::filesystem::path& path, std::uint64_t metadata_bytes) {
    silence_errors();
    const std::string what = cat("cannot create ", find_final_path(path).string());
    const Handle access = make_write_access(what);
    if (metadata_bytes > 0) {
        check_hdf5(H5Pset_meta_block_size(access.get(), metadata_bytes), what, check_space_advice);
    }
    return Handle(
        check_hdf5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), what, check_space_advice),
        H5Fclose);
}

std::uint64_t compute_metadata_bytes(std::size_t datasets) {
    constexpr std::uint64_t file_bytes = 64 << 10;        // for metadata that belong to no dataset
    constexpr std::uint64_t bytes_per_dataset = 4 << 10;  // header, attributes and link of the dataset
    return datasets == 0 ? 0 : file_bytes + datasets * bytes_per_dataset;
}

Handle open_for_changes(const std::filesystem::path& path) {
    silence_errors();
    const std::string what = cat("cannot open ", find_final_path(path).string());
    const Handle access = make_write_access(what);
    return Handle(check_hdf5(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), what, check_space_advice),
                  H5Fclose);
}

std::uint64_t flush(const Handle& file) {
    constexpr std::string_view what = "cannot write the HDF5 file";
    check_hdf5(H5Fflush(file.get(), H5F_SCOPE_LOCAL), what, check_space_advice);
    hsize_t size = 0;
    check_hdf5(H5Fget_filesize(file.get(), &size), what, check_space_advice);
    return size;
}

void abandon(const Handle& file) noexcept {
    void* descriptor = nullptr;
    if (file.get() < 0 || H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &descriptor) < 0) return;
    // From now on, HDF5 writes into a file in memory instead. /dev/null would not do, because H5Fclose()
    // truncates the file, which fails for /dev/null.
    const int memory_file = ::memfd_create("abandoned", 0);
    if (memory_file < 0) return;
    ::dup2(memory_file, *static_cast<const int*>(descriptor));
    ::close(memory_file);
}

void write_text(hid_t object, const std::string& name, const std::string& value) {
    const Handle type = make_text_type(value.size());
    write_scalar(object, name, type.get(), type.get(),
                 value.c_str());  // c_str(), because an empty text is stored as one zero byte
}

void write_number(hid_t object, const std::string& name, std::uint64_t value) {
    write_scalar(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

void write_numbers(hid_t object, const std::string& name, std::span<const std::uint64_t> values) {
    const std::string what = cat("cannot write the attribute '", name, "'");
    const hsize_t count = values.size();
    const Handle space(check_hdf5(H5Screate_simple(1, &count, nullptr), what, check_space_advice), H5Sclose);
    const Handle attribute(
        check_hdf5(H5Acreate2(object, name.c_str(), H5T_STD_U64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), what,
                   check_space_advice),
        H5Aclose);
    check_hdf5(H5Awrite(attribute.get(), H5T_NATIVE_UINT64, values.data()), what, check_space_advice);
}

void overwrite_text(hid_t object, const std::string& name, const std::string& value) {
    const Handle type = make_text_type(value.size());
    overwrite_scalar(object, name, type.get(), value.c_str());
}

void overwrite_number(hid_t object, const std::string& name, std::uint64_t value) {
    overwrite_scalar(object, name, H5T_NATIVE_UINT64, &value);
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
    constexpr hsize_t max_count = 64;  // no attribute of Trireme has more
    if (H5Sget_simple_extent_dims(space.get(), &count, nullptr) < 0 || count > max_count) return {};
    std::vector<std::uint64_t> values(count);
    if (H5Aread(attribute.get(), H5T_NATIVE_UINT64, values.data()) < 0) return {};
    return values;
}

}  // namespace trireme::archive::hdf5
