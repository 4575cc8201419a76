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

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// Returns the system's error number, or 0 if the space is reserved or the file system cannot reserve space.
int allocate(const fs::path& path, std::uint64_t begin, std::uint64_t bytes) {
    const int descriptor = ::open(path.c_str(), O_RDWR);  // the emulation of posix_fallocate() also reads
    if (descriptor < 0) return errno;
    const int code = ::posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(bytes));
    ::close(descriptor);
    return code == EOPNOTSUPP || code == EINVAL ? 0 : code;
}

}  // namespace

PartialFile::PartialFile(fs::path path, std::uint64_t least_space) : final_(std::move(path)) {
    std::error_code ignored;
    const fs::path folder = folder_of(final_);
    if (!final_.has_filename() || fs::is_directory(final_, ignored))
        throw ConfigError(cat("the output ", final_.string(), " is a folder; name a file in it"));
    if (!fs::is_directory(folder, ignored))
        throw ConfigError(cat("the output's folder ", folder.string(), " does not exist; create it (mkdir -p ",
                              folder.string(), ") or name another with --output"));
    const fs::path partial = partial_path_beside(final_);
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) refuse_to_write(final_, errno);
    ::close(descriptor);
    const int code = least_space == 0 ? 0 : allocate(partial, 0, least_space);
    if (code == 0) {
        partial_ = partial;
    } else {
        ::unlink(partial.c_str());
        refuse_to_write(final_, code);
    }
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : final_(std::move(other.final_)),
      partial_(std::exchange(other.partial_, {})),
      reserved_(other.reserved_) {}

PartialFile::~PartialFile() {
    if (!partial_.empty()) ::unlink(partial_.c_str());
}

void PartialFile::reserve(std::uint64_t bytes, std::uint64_t ahead) {
    if (bytes <= reserved_) return;
    const std::uint64_t wanted = bytes + ahead;
    const int code = allocate(partial_, reserved_, wanted - reserved_);
    if (code != 0) refuse_to_write(final_, code);
    reserved_ = wanted;
}

void PartialFile::keep(std::uint64_t bytes) {
    if (::truncate(partial_.c_str(), static_cast<off_t>(bytes)) != 0) refuse_to_write(final_, errno);
    sync_to_disk(partial_);
    if (::rename(partial_.c_str(), final_.c_str()) != 0) refuse_to_write(final_, errno);
    partial_.clear();
    sync_to_disk(folder_of(final_));
}

}  // namespace trireme::archive
