#include "trireme/archive/partial_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "archive/file_writing.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {
namespace fs = std::filesystem;
namespace {

fs::path find_folder(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Reserves disk space for bytes [begin, begin + bytes) of a file. Returns a value of errno, or 0 if the space
// is reserved or the file system cannot reserve space.
int reserve_space(const fs::path& path, std::uint64_t begin, std::uint64_t bytes) {
    // O_RDWR, because glibc reads and writes the file if the file system does not implement posix_fallocate().
    const int descriptor = ::open(path.c_str(), O_RDWR);
    if (descriptor < 0) return errno;
    const int code = ::posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(bytes));
    ::close(descriptor);
    return code == EOPNOTSUPP || code == EINVAL ? 0 : code;
}

}  // namespace

PartialFile::PartialFile(fs::path path, std::uint64_t min_bytes) : final_path_(std::move(path)) {
    std::error_code ignored;
    const fs::path folder = find_folder(final_path_);
    if (!final_path_.has_filename() || fs::is_directory(final_path_, ignored))
        throw ConfigError(cat("the output ", final_path_.string(), " is a folder; name a file in it"));
    if (!fs::is_directory(folder, ignored))
        throw ConfigError(cat("the output's folder ", folder.string(), " does not exist; create it (mkdir -p ",
                              folder.string(), ") or name another with --output"));
    const fs::path partial = make_partial_path(final_path_);
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) throw_write_error(final_path_, errno);
    ::close(descriptor);
    const int code = min_bytes == 0 ? 0 : reserve_space(partial, 0, min_bytes);
    if (code == 0) {
        partial_path_ = partial;
    } else {
        ::unlink(partial.c_str());
        throw_write_error(final_path_, code);
    }
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : final_path_(std::move(other.final_path_)),
      partial_path_(std::exchange(other.partial_path_, {})),
      reserved_bytes_(other.reserved_bytes_) {}

PartialFile::~PartialFile() {
    if (!partial_path_.empty()) ::unlink(partial_path_.c_str());
}

void PartialFile::reserve(std::uint64_t bytes, std::uint64_t advance_bytes) {
    if (bytes <= reserved_bytes_) return;
    const std::uint64_t target_bytes = bytes + advance_bytes;
    const int code = reserve_space(partial_path_, reserved_bytes_, target_bytes - reserved_bytes_);
    if (code != 0) throw_write_error(final_path_, code);
    reserved_bytes_ = target_bytes;
}

void PartialFile::commit(std::uint64_t bytes) {
    if (::truncate(partial_path_.c_str(), static_cast<off_t>(bytes)) != 0)
        throw_write_error(final_path_, errno);
    sync_to_disk(partial_path_);
    if (::rename(partial_path_.c_str(), final_path_.c_str()) != 0) throw_write_error(final_path_, errno);
    partial_path_.clear();
    sync_to_disk(find_folder(final_path_));
}

}  // namespace trireme::archive
