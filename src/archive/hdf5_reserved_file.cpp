#include "trireme/archive/hdf5_reserved_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "archive/file_writing.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/positioned_file.hpp"

namespace trireme::archive::hdf5 {
namespace {

void create_empty(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) throw_write_error(path, errno);
    ::close(descriptor);
}

// Writes a copy of the imprint to `path` and opens the copy.
Handle make_copy(const Imprint& imprint, const std::filesystem::path& path) {
    create_empty(path);
    const WritableFile file(path);
    for (const Imprint::ByteRange& range : imprint.ranges())
        file.write(range.offset, std::as_bytes(std::span(range.bytes)));
    // HDF5 refuses to open a file that is shorter than the size in its superblock.
    if (::truncate(path.c_str(), static_cast<off_t>(imprint.size())) != 0) throw_write_error(path, errno);
    return open_for_changes(path);
}

}  // namespace

ReservedFile::ReservedFile(std::filesystem::path path, const Imprint& imprint)
    : path_(std::move(path)), file_(make_copy(imprint, path_)) {}

ReservedFile::~ReservedFile() { abandon(file_); }

void ReservedFile::close() {
    flush(file_);
    if (file_.close() < 0)
        throw ResourceError(cat(find_final_path(path_).string(), " could not be closed: HDF5 says \"",
                                find_error_reason(), "\"; check the free space and the health of its disk"));
}

}  // namespace trireme::archive::hdf5
