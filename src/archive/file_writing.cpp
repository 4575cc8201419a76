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

constexpr std::string_view partial_mark = ".partial-";

// Returns the index of the mark in `name`, or npos if the name is not that of a partial file or folder.
std::size_t find_partial_mark(std::string_view name) {
    const std::size_t begin = name.rfind(partial_mark);
    if (!name.starts_with('.') || begin == std::string_view::npos) return std::string_view::npos;
    const std::string_view digits = name.substr(begin + partial_mark.size());
    const bool is_valid = digits.size() == random_digit_count &&
                          digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    return is_valid ? begin : std::string_view::npos;
}

// Returns advice for the user if `code` is an error of the machine, such as a full disk. Returns null for other
// errors.
const char* find_remedy(int code) {
    switch (code) {
        case ENOSPC:
        case EDQUOT:
            return "; free some space or name another folder";
        case EFBIG:
            return "; raise the limit on file sizes (ulimit -f), or name a folder whose file system allows "
                   "larger files";
        case EIO:
            return "; check the health of the disk";
        case EMFILE:
        case ENFILE:
            return "; raise the limit on open files (ulimit -n), or end other programs";
        case ENOMEM:
            return "; end other programs, or use a machine with more memory";
        default:
            return nullptr;
    }
}

}  // namespace

fs::path make_partial_path(const fs::path& path) { return make_partial_path(path, make_random_digits()); }

fs::path make_partial_path(const fs::path& path, std::string_view digits) {
    return path.parent_path() / cat('.', path.filename().string(), partial_mark, digits);
}

fs::path make_partial_path_inside(const fs::path& folder) {
    return folder / cat(partial_mark, make_random_digits());
}

bool is_partial(std::string_view name) { return find_partial_mark(name) != std::string_view::npos; }

fs::path find_final_path(const fs::path& path) {
    fs::path final_path;
    for (const fs::path& component : path) {
        const std::string name = component.string();
        const std::size_t begin = find_partial_mark(name);
        if (begin == std::string::npos) {
            final_path /= component;
        } else if (begin > 0) {  // `.partial-XXXXXXXX`, where `begin` is 0, has no final name
            final_path /= name.substr(1, begin - 1);
        }
    }
    return final_path;
}

void throw_write_error(const std::filesystem::path& path, int code, SourcePosition where) {
    const std::string what = cat(find_final_path(path).string(), " cannot be written: ", std::strerror(code));
    if (const char* remedy = find_remedy(code)) throw ResourceError(what + remedy, where);
    throw ConfigError(cat(what, "; name another folder, or change the folder's permissions"), where);
}

void sync_to_disk(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int code = errno;
    if (descriptor >= 0) ::close(descriptor);
    // File systems that cannot sync a folder return EINVAL. EINVAL is no error, because the caller can do
    // nothing more to make the names in such a folder durable.
    if (!is_synced && code != EINVAL) throw_write_error(path, code);
}

}  // namespace trireme::archive
