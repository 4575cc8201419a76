#include "trireme/archive/partial_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t reserve_step = 1 << 20;  // bytes
constexpr std::uint64_t first_bytes = 2 << 20;   // a disk that has no more has no room for a corpus

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

[[noreturn]] void refuse_output(const fs::path& path, int code) {
    const std::string what = cat("the output ", path.string(), " cannot be written: ", std::strerror(code));
    if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO || code == EMFILE || code == ENFILE)
        throw ResourceError(cat(what, "; free some space or name another folder"));
    throw ConfigError(cat(what, "; name another folder with --output, or change its permissions"));
}

// The system's error number; 0 where the space is there, or where the file system cannot say so.
int allocate(const fs::path& path, std::uint64_t begin, std::uint64_t bytes) {
    const int descriptor = ::open(path.c_str(), O_RDWR);  // where it is emulated, it also reads
    if (descriptor < 0) return errno;
    const int code = ::posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(bytes));
    ::close(descriptor);
    return code == EOPNOTSUPP || code == EINVAL ? 0 : code;
}

// The file descriptor lives only as long as the system needs it to sync what it names.
void sync(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int code = errno;
    if (descriptor >= 0) ::close(descriptor);
    // File systems that cannot sync a folder say EINVAL; the rename is then as safe as they make it.
    if (!synced && code != EINVAL)
        throw ResourceError(cat(path.string(), " could not be written to the disk: ", std::strerror(code),
                                "; check its free space and health"));
}

}  // namespace

PartialFile::PartialFile(fs::path path) : final_(std::move(path)) {
    std::error_code ignored;
    const fs::path folder = folder_of(final_);
    if (!final_.has_filename() || fs::is_directory(final_, ignored))
        throw ConfigError(cat("the output ", final_.string(), " is a folder; name a file in it"));
    if (!fs::is_directory(folder, ignored))
        throw ConfigError(cat("the output's folder ", folder.string(), " does not exist; create it (mkdir -p ",
                              folder.string(), ") or name another with --output"));
    const fs::path partial = folder / cat(".", final_.filename().string(), ".partial-", ::getpid());
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (descriptor < 0) refuse_output(final_, errno);
    ::close(descriptor);
    const int code = allocate(partial, 0, first_bytes);
    if (code == 0) {
        partial_ = partial;
    } else {
        ::unlink(partial.c_str());
        refuse_output(final_, code);
    }
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : final_(std::move(other.final_)),
      partial_(std::exchange(other.partial_, {})),
      reserved_(other.reserved_) {}

PartialFile::~PartialFile() {
    if (!partial_.empty()) ::unlink(partial_.c_str());
}

void PartialFile::reserve(std::uint64_t bytes) {
    if (bytes <= reserved_) return;
    const std::uint64_t wanted = bytes + reserve_step;
    const int code = allocate(partial_, reserved_, wanted - reserved_);
    if (code != 0) refuse_output(final_, code);
    reserved_ = wanted;
}

void PartialFile::keep(std::uint64_t bytes) {
    if (::truncate(partial_.c_str(), static_cast<off_t>(bytes)) != 0) refuse_output(final_, errno);
    sync(partial_);
    if (::rename(partial_.c_str(), final_.c_str()) != 0) refuse_output(final_, errno);
    partial_.clear();
    sync(folder_of(final_));
}

}  // namespace trireme
