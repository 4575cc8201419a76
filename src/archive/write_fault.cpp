#include "archive/write_fault.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "archive/partial_path.hpp"

namespace trireme {
namespace {

// What to do about a fault of the machine; null where it is none.
const char* remedy_of(int code) {
    switch (code) {
        case ENOSPC:
        case EDQUOT:
            return "; free some space or name another folder";
        case EFBIG:
            return "; raise the limit (ulimit -f), or name a folder whose file system takes files of that size";
        case EIO:
            return "; check the health of its disk";
        case EMFILE:
        case ENFILE:
            return "; raise the limit of open files (ulimit -n), or end other programs";
        case ENOMEM:
            return "; end other programs, or use a machine with more memory";
        default:
            return nullptr;
    }
}

}  // namespace

void refuse_to_write(const std::filesystem::path& path, int code, Where where) {
    const std::string what = cat(whole_path(path).string(), " cannot be written: ", std::strerror(code));
    if (const char* remedy = remedy_of(code)) throw ResourceError(what + remedy, where);
    throw ConfigError(cat(what, "; name another folder, or change its permissions"), where);
}

void sync_to_disk(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int code = errno;
    if (descriptor >= 0) ::close(descriptor);
    // File systems that cannot sync a folder say EINVAL; the rename is then as safe as they make it.
    if (!synced && code != EINVAL) refuse_to_write(path, code);
}

}  // namespace trireme
