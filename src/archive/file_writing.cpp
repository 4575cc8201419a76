#include "archive/file_writing.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view mark = ".partial-";

// Returns the index of the mark, or npos if the name is not partial.
std::size_t mark_in(std::string_view name) {
    const std::size_t begin = name.rfind(mark);
    if (!name.starts_with('.') || begin == std::string_view::npos) return std::string_view::npos;
    const std::string_view digits = name.substr(begin + mark.size());
    const bool fits = digits.size() == random_name_length &&
                      digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    return fits ? begin : std::string_view::npos;
}

// Returns the advice for an error of the machine, or null if `code` is another error.
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

fs::path partial_path_beside(const fs::path& path) { return partial_path_beside(path, random_digits()); }

fs::path partial_path_beside(const fs::path& path, std::string_view digits) {
    return path.parent_path() / cat('.', path.filename().string(), mark, digits);
}

fs::path partial_path_inside(const fs::path& folder) { return folder / cat(mark, random_digits()); }

bool is_partial(std::string_view name) { return mark_in(name) != std::string_view::npos; }

fs::path whole_path(const fs::path& path) {
    fs::path whole;
    for (const fs::path& part : path) {
        const std::string name = part.string();
        const std::size_t begin = mark_in(name);
        if (begin == std::string::npos) {
            whole /= part;
        } else if (begin > 0) {
            whole /= name.substr(1, begin - 1);
        }
    }
    return whole;
}

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
    // File systems that cannot sync a folder return EINVAL; the rename is then as safe as they make it.
    if (!synced && code != EINVAL) refuse_to_write(path, code);
}

}  // namespace trireme::archive
