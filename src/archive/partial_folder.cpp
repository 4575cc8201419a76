#include "trireme/archive/partial_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "archive/file_writing.hpp"
#include "trireme/archive/listing.hpp"

namespace trireme::archive {
namespace fs = std::filesystem;
namespace {

// Returns an absolute path without a trailing slash, so that it has a filename and a parent.
fs::path with_name(const fs::path& path) {
    std::error_code error;
    fs::path whole = fs::absolute(path, error);
    if (error) refuse_to_write(path, error.value());
    return whole.has_filename() ? whole : whole.parent_path();
}

// Returns `folder` and its parents that do not exist.
std::vector<fs::path> missing_folders(const fs::path& folder) {
    std::vector<fs::path> missing;
    std::error_code ignored;
    for (fs::path at = folder; at.has_relative_path() && !fs::exists(at, ignored); at = at.parent_path())
        missing.push_back(at);
    return missing;
}

void remove_empty(const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) ::rmdir(folder.c_str());
}

void rename_or_refuse(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) refuse_to_write(to, errno);
}

// Renames without replacing anything. Returns the system's error number, or 0 on success.
int rename_onto_nothing(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(to, ignored))) return EEXIST;
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Exchanges the two folders; afterwards `partial` holds the former contents of `final`.
void exchange(const fs::path& partial, const fs::path& final) {
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS) refuse_to_write(final, errno);
    const fs::path old = partial_path_beside(final);
    rename_or_refuse(final, old);
    rename_or_refuse(partial, final);
    rename_or_refuse(old, partial);
}

void write_all(const fs::path& path, std::string_view bytes) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) refuse_to_write(path, errno);
    int code = 0;
    while (!bytes.empty() && code == 0) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count >= 0) bytes.remove_prefix(static_cast<std::size_t>(count));
        if (count < 0 && errno != EINTR) code = errno;
    }
    if (::close(descriptor) != 0 && code == 0) code = errno;
    if (code != 0) refuse_to_write(path, code);
}

}  // namespace

PartialFolder::PartialFolder(const fs::path& path, Existing existing)
    : final_(with_name(path)), existing_(existing) {
    std::error_code error;
    const bool is_there = fs::is_directory(final_, error);
    is_inside_ = is_there && names_in(final_).empty();
    if (!is_there || existing_ == Existing::refused) refuse_unless_empty(final_);
    if (is_there && !is_inside_) final_ = fs::canonical(final_);  // a folder cannot replace a symbolic link
    made_ = missing_folders(final_.parent_path());
    fs::create_directories(final_.parent_path(), error);
    const fs::path partial = is_inside_ ? partial_path_inside(final_) : partial_path_beside(final_);
    if (!error) fs::create_directory(partial, error);
    if (error) {
        remove_empty(made_);
        refuse_to_write(final_, error.value());
    }
    partial_ = partial;
}

PartialFolder::~PartialFolder() {
    std::error_code ignored;
    if (!partial_.empty()) fs::remove_all(partial_, ignored);
    remove_empty(made_);
}

void PartialFolder::keep(const std::string& last) {
    for (const std::string& name : names_in(partial_)) sync_to_disk(partial_ / name);
    sync_to_disk(partial_);
    is_inside_ ? move_out(last) : put_into_place();
    made_.clear();
    sync_to_disk(is_inside_ ? final_ : final_.parent_path());
}

void PartialFolder::move_out(const std::string& last) {
    std::vector<std::string> names = names_in(partial_);
    std::stable_partition(names.begin(), names.end(), [&](const std::string& name) { return name != last; });
    for (std::size_t i = 0; i < names.size(); ++i) {
        const int code = rename_onto_nothing(partial_ / names[i], final_ / names[i]);
        if (code == 0) continue;
        std::error_code ignored;
        for (std::size_t done = 0; done < i; ++done) fs::remove_all(final_ / names[done], ignored);
        refuse_to_write(final_ / names[i], code);
    }
    ::rmdir(partial_.c_str());
    partial_.clear();
}

void PartialFolder::put_into_place() {
    if (::rename(partial_.c_str(), final_.c_str()) == 0) {
        partial_.clear();
    } else if ((errno == ENOTEMPTY || errno == EEXIST) && existing_ == Existing::replaced) {
        exchange(partial_, final_);
    } else {
        refuse_to_write(final_, errno);
    }
}

fs::path joint_partial_folder(const fs::path& path, const std::string& digits) {
    const fs::path final = with_name(path);
    fs::path partial = partial_path_beside(final, digits);
    std::error_code error;
    fs::create_directories(partial, error);
    if (error) refuse_to_write(final, error.value());
    return partial;
}

void sync_file(const fs::path& path) { sync_to_disk(path); }

void put_in_place(const fs::path& partial, const fs::path& path) {
    sync_to_disk(partial);
    if (::rename(partial.c_str(), path.c_str()) != 0) {
        if (errno != ENOTEMPTY && errno != EEXIST) refuse_to_write(path, errno);
        exchange(partial, path);
        std::error_code ignored;
        fs::remove_all(partial, ignored);
    }
    sync_to_disk(with_name(path).parent_path());
}

void remove_folder(const fs::path& path) {
    const fs::path partial = partial_path_beside(with_name(path));
    rename_or_refuse(path, partial);
    std::error_code ignored;
    fs::remove_all(partial, ignored);
}

void remove_partial(const fs::path& folder) noexcept {
    std::error_code ignored;
    std::vector<fs::path> found;
    for (fs::directory_iterator at(folder, ignored); !ignored && at != fs::directory_iterator();
         at.increment(ignored))
        if (is_partial(at->path().filename().string())) found.push_back(at->path());
    for (const fs::path& partial : found) fs::remove_all(partial, ignored);
}

void write_whole_file(const fs::path& path, std::string_view bytes) {
    const fs::path final = with_name(path);
    const fs::path partial = partial_path_beside(final);
    try {
        write_all(partial, bytes);
        sync_to_disk(partial);
        rename_or_refuse(partial, final);
    } catch (...) {
        ::unlink(partial.c_str());
        throw;
    }
    sync_to_disk(final.parent_path());
}

}  // namespace trireme::archive
