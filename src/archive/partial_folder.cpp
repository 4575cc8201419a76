#include "trireme/archive/partial_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme {
namespace fs = std::filesystem;
namespace {

bool is_fault_of_the_machine(int code) {
    return code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO || code == EMFILE || code == ENFILE;
}

[[noreturn]] void refuse(const fs::path& path, int code) {
    const std::string what = cat(path.string(), " cannot be written: ", std::strerror(code));
    if (is_fault_of_the_machine(code))
        throw ResourceError(cat(what, "; free some space or name another folder"));
    throw ConfigError(cat(what, "; name another folder, or change its permissions"));
}

[[noreturn]] void refuse_late(const fs::path& path, int code) {
    throw ResourceError(cat(path.string(), " could not be written to the disk: ", std::strerror(code),
                            "; check its free space and health"));
}

// An absolute path without a slash at its end, so that it has a name and a folder.
fs::path with_name(const fs::path& path) {
    fs::path whole = fs::absolute(path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

void sync(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int code = errno;
    if (descriptor >= 0) ::close(descriptor);
    // File systems that cannot sync a folder say EINVAL; the rename is then as safe as they make it.
    if (!synced && code != EINVAL) refuse_late(path, code);
}

void rename_or_refuse(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) refuse_late(to, errno);
}

// Afterwards `partial` holds what `final` held.
void exchange(const fs::path& partial, const fs::path& final) {
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS) refuse_late(final, errno);
    const fs::path old = cat(partial.string(), "-old");
    rename_or_refuse(final, old);
    rename_or_refuse(partial, final);
    rename_or_refuse(old, partial);
}

void write_all(const fs::path& path, std::string_view bytes) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) refuse(path, errno);
    int code = 0;
    while (!bytes.empty() && code == 0) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count >= 0) bytes.remove_prefix(static_cast<std::size_t>(count));
        if (count < 0 && errno != EINTR) code = errno;
    }
    if (::close(descriptor) != 0 && code == 0) code = errno;
    if (code != 0) refuse_late(path, code);
}

}  // namespace

PartialFolder::PartialFolder(fs::path path) : final_(with_name(path)) {
    std::error_code error;
    if (fs::exists(final_, error) && !fs::is_directory(final_, error)) refuse(final_, ENOTDIR);
    fs::create_directories(final_.parent_path(), error);
    if (error) refuse(final_.parent_path(), error.value());
    const fs::path partial =
        final_.parent_path() / cat(".", final_.filename().string(), ".partial-", ::getpid());
    fs::remove_all(partial, error);  // of a process of this number that was killed
    fs::create_directory(partial, error);
    if (error) refuse(final_, error.value());
    partial_ = partial;
}

PartialFolder::PartialFolder(PartialFolder&& other) noexcept
    : final_(std::move(other.final_)), partial_(std::exchange(other.partial_, {})) {}

PartialFolder::~PartialFolder() {
    std::error_code ignored;
    if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

void PartialFolder::keep() {
    for (const fs::directory_entry& entry : fs::directory_iterator(partial_)) sync(entry.path());
    sync(partial_);
    // Onto an empty folder too, rename() is one step.
    const bool is_free = ::rename(partial_.c_str(), final_.c_str()) == 0;
    if (is_free) {
        partial_.clear();
    } else if (errno == ENOTEMPTY || errno == EEXIST) {
        exchange(partial_, final_);
    } else {
        refuse_late(final_, errno);
    }
    sync(final_.parent_path());
}

void write_whole_file(const fs::path& path, std::string_view bytes) {
    const fs::path final = with_name(path);
    const fs::path partial = final.parent_path() / cat(".", final.filename().string(), ".partial-", ::getpid());
    try {
        write_all(partial, bytes);
        sync(partial);
        rename_or_refuse(partial, final);
    } catch (...) {
        ::unlink(partial.c_str());
        throw;
    }
    sync(final.parent_path());
}

}  // namespace trireme
