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
    if (descriptor < 0) refuse_to_write(path, errno);
    ::close(descriptor);
}

Handle copy_of(const Imprint& imprint, const std::filesystem::path& path) {
    create_empty(path);
    const WritableFile file(path);
    for (const Imprint::Stretch& stretch : imprint.stretches())
        file.write(stretch.offset, std::as_bytes(std::span(stretch.bytes)));
    // HDF5 refuses to open a file that is shorter than its superblock says.
    if (::truncate(path.c_str(), static_cast<off_t>(imprint.size())) != 0) refuse_to_write(path, errno);
    return open_again(path);
}

}  // namespace

ReservedFile::ReservedFile(std::filesystem::path path, const Imprint& imprint)
    : path_(std::move(path)), file_(copy_of(imprint, path_)) {}

ReservedFile::~ReservedFile() { abandon(file_); }

void ReservedFile::close() {
    flush(file_);
    if (file_.close() < 0)
        throw ResourceError(cat(whole_path(path_).string(), " could not be closed: HDF5 says \"", reason(),
                                "\"; check the free space and health of its disk"));
}

}  // namespace trireme::archive::hdf5
