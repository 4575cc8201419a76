#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "archive/file_writing.hpp"
#include "trireme/archive/positioned_file.hpp"

namespace trireme::archive {
namespace {

// Returns true if the disk is known to lack space for growing the file to `bytes`.
bool lacks_space(int descriptor, std::uint64_t bytes) {
    struct stat file {};
    struct statvfs disk {};
    if (::fstat(descriptor, &file) != 0 || ::fstatvfs(descriptor, &disk) != 0 || disk.f_blocks == 0)
        return false;
    const std::uint64_t occupied_bytes = static_cast<std::uint64_t>(file.st_blocks) * 512;
    return bytes - std::min(bytes, occupied_bytes) > static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

}  // namespace

WritableFile::WritableFile(std::filesystem::path path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw_write_error(path_, errno);
}

WritableFile::WritableFile(WritableFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

WritableFile::~WritableFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

// Checks the free space first, because a reservation that fails fills the disk for a moment, in which other
// writers fail. Does not use posix_fallocate(), which writes every block if the file system cannot reserve
// space.
void WritableFile::reserve(std::uint64_t bytes) const {
    if (lacks_space(descriptor_, bytes)) throw_write_error(path_, ENOSPC);
    if (bytes == 0 || ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) throw_write_error(path_, errno);
}

void WritableFile::write(std::uint64_t first, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(first));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw_write_error(path_, errno);
        first += static_cast<std::uint64_t>(count);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

void WritableFile::sync() const {
    if (::fsync(descriptor_) != 0) throw_write_error(path_, errno);
}

}  // namespace trireme::archive
