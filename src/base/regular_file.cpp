#include "trireme/base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>

#include "trireme/base/error.hpp"

namespace trireme {
namespace fs = std::filesystem;
namespace {

std::string describe_subject(const fs::path& path, std::string_view label) {
    return label.empty() ? path.string() : cat(label, ' ', path.string());
}

[[noreturn]] void refuse(const std::string& subject, int code) {
    const bool is_missing = code == ENOENT || code == ENOTDIR;
    throw ConfigError(cat(subject, " cannot be read: ", std::strerror(code),
                          is_missing ? "; check its name" : "; check its permissions and its disk"));
}

void require_regular(const struct stat& status, const std::string& subject) {
    const auto refuse_kind = [&](const char* kind, const char* advice) {
        throw ConfigError(cat(subject, " is not a regular file (it is ", kind, "); ", advice));
    };
    if (S_ISREG(status.st_mode)) return;
    if (S_ISDIR(status.st_mode)) refuse_kind("a directory", "name a file");
    if (S_ISFIFO(status.st_mode)) refuse_kind("a FIFO", "write its contents to a file, and name that file");
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) refuse_kind("a device", "name a file");
    refuse_kind("a socket", "name a file");
}

class Descriptor {
public:
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { ::close(descriptor_); }
    int get() const { return descriptor_; }

private:
    int descriptor_;
};

// Reads until the end of the file and not up to st_size, because files of /proc have a st_size of 0.
std::string read_all(int descriptor, const std::string& subject, std::uint64_t max_bytes) {
    constexpr std::size_t min_read_bytes = 1 << 16;
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) refuse(subject, errno);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    std::string bytes;
    for (std::size_t end = 0;; end = bytes.size()) {
        if (std::max<std::uint64_t>(size, end) > max_bytes)
            throw ConfigError(cat(subject, " has ", std::max<std::uint64_t>(size, end),
                                  " bytes, but no file of its kind has more than ", max_bytes,
                                  "; check that it is the right file"));
        bytes.resize(std::max<std::size_t>(size + 1, end + min_read_bytes));
        const ssize_t count = ::read(descriptor, bytes.data() + end, bytes.size() - end);
        const int code = errno;
        bytes.resize(end + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count < 0 && code != EINTR) refuse(subject, code);
        if (count == 0) return bytes;
    }
}

}  // namespace

int open_regular_file(const fs::path& path, std::string_view label) {
    const std::string subject = describe_subject(path, label);
    struct stat status {};
    // Checks the kind of the file before open(), because opening a device can have effects of its own, and
    // again after open(), because another process may have replaced the file.
    if (::stat(path.c_str(), &status) != 0) refuse(subject, errno);
    require_regular(status, subject);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) refuse(subject, errno);
    const int code = ::fstat(descriptor, &status) == 0 ? 0 : errno;
    if (code == 0 && S_ISREG(status.st_mode)) return descriptor;
    ::close(descriptor);
    if (code != 0) refuse(subject, code);
    require_regular(status, subject);
    throw BugError("a regular file was refused");
}

std::string read_regular_file(const fs::path& path, std::string_view label, std::uint64_t max_bytes) {
    const std::string subject = describe_subject(path, label);
    const Descriptor file(open_regular_file(path, label));
    const auto throw_too_large = [&] {
        throw ResourceError(cat(subject, " has ", fs::file_size(path),
                                " bytes and does not fit into the memory of this machine; check that it is the "
                                "right file, or use a machine with more memory"));
    };
    try {
        return read_all(file.get(), subject, max_bytes);
    } catch (const std::bad_alloc&) {
        throw_too_large();
    } catch (const std::length_error&) {
        throw_too_large();
    }
    throw BugError("memory was refused without an error");
}

std::optional<std::filesystem::path> find_command(const std::string& search_path, const std::string& name) {
    std::istringstream folders(search_path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::filesystem::path path = std::filesystem::path(folder.empty() ? "." : folder) / name;
        std::error_code ignored;
        if (std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0) return path;
    }
    return std::nullopt;
}

}  // namespace trireme
