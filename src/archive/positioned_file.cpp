#include "trireme/archive/positioned_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::archive {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const fs::path& path, int code) {
    const char* advice = code == ENOENT ? "; check its name" : "; check its permissions and its disk";
    throw ConfigError(cat(path.string(), " cannot be read: ", std::strerror(code), advice));
}

}  // namespace

PositionedFile::PositionedFile(fs::path path) : path_(std::move(path)), descriptor_(open_regular_file(path_)) {
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0) {
        size_ = static_cast<std::uint64_t>(status.st_size);
        return;
    }
    const int code = errno;
    ::close(descriptor_);
    refuse(path_, code);
}

PositionedFile::PositionedFile(PositionedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

PositionedFile& PositionedFile::operator=(PositionedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_, other.size_);
    return *this;
}

PositionedFile::~PositionedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void PositionedFile::advise_sequential() const { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL); }

void PositionedFile::read(std::uint64_t first, std::span<std::byte> out) const {
    const std::uint64_t end = first + out.size();
    while (!out.empty()) {
        const ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(first));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) refuse(path_, errno);
        if (count == 0)
            throw ConfigError(cat(path_.string(), " is cut short: it ends at byte ", first, ", but byte ",
                                  end - 1, " is needed; copy the file again"));
        first += static_cast<std::uint64_t>(count);
        out = out.subspan(static_cast<std::size_t>(count));
    }
}

}  // namespace trireme::archive
