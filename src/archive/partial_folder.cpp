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
fs::path make_absolute_path(const fs::path& path) {
    std::error_code error;
    fs::path absolute = fs::absolute(path, error);
    if (error) throw_write_error(path, error.value());
    return absolute.has_filename() ? absolute : absolute.parent_path();
}

// Returns the folders that must be created before `folder` exists, innermost first: `folder` and its missing
// parents.
std::vector<fs::path> find_missing_folders(const fs::path& folder) {
    std::vector<fs::path> missing;
    std::error_code ignored;
    for (fs::path at = folder; at.has_relative_path() && !fs::exists(at, ignored); at = at.parent_path())
        missing.push_back(at);
    return missing;
}

void remove_empty_folders(const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) ::rmdir(folder.c_str());
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) throw_write_error(to, errno);
}

// Renames `from` to `to` unless `to` exists. Returns a value of errno, or 0 on success.
int rename_without_replacing(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(to, ignored))) return EEXIST;
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Exchanges the names of the two folders: the new folder gets the name `final`, and the old one `partial`.
void exchange_folders(const fs::path& partial, const fs::path& final) {
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS) throw_write_error(final, errno);
    const fs::path old = make_partial_path(final);
    rename_or_throw(final, old);
    rename_or_throw(partial, final);
    rename_or_throw(old, partial);
}

void write_new_file(const fs::path& path, std::string_view bytes) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) throw_write_error(path, errno);
    int code = 0;
    while (!bytes.empty() && code == 0) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count >= 0) bytes.remove_prefix(static_cast<std::size_t>(count));
        if (count < 0 && errno != EINTR) code = errno;
    }
    if (::close(descriptor) != 0 && code == 0) code = errno;
    if (code != 0) throw_write_error(path, code);
}

}  // namespace

PartialFolder::PartialFolder(const fs::path& path, ExistingFolder existing)
    : final_path_(make_absolute_path(path)), existing_(existing) {
    std::error_code error;
    const bool folder_exists = fs::is_directory(final_path_, error);
    is_inside_final_path_ = folder_exists && list_names(final_path_).empty();
    if (!folder_exists || existing_ == ExistingFolder::refuse) require_empty_folder(final_path_);
    if (folder_exists && !is_inside_final_path_)
        final_path_ = fs::canonical(final_path_);  // a folder cannot replace a symbolic link
    created_parents_ = find_missing_folders(final_path_.parent_path());
    fs::create_directories(final_path_.parent_path(), error);
    const fs::path partial =
        is_inside_final_path_ ? make_partial_path_inside(final_path_) : make_partial_path(final_path_);
    if (!error) fs::create_directory(partial, error);
    if (error) {
        remove_empty_folders(created_parents_);
        throw_write_error(final_path_, error.value());
    }
    partial_path_ = partial;
}

PartialFolder::~PartialFolder() {
    std::error_code ignored;
    if (!partial_path_.empty()) fs::remove_all(partial_path_, ignored);
    remove_empty_folders(created_parents_);
}

void PartialFolder::commit(const std::string& last_file) {
    for (const std::string& name : list_names(partial_path_)) sync_to_disk(partial_path_ / name);
    sync_to_disk(partial_path_);
    is_inside_final_path_ ? move_files_out(last_file) : move_into_place();
    created_parents_.clear();
    sync_to_disk(is_inside_final_path_ ? final_path_ : final_path_.parent_path());
}

void PartialFolder::move_files_out(const std::string& last_file) {
    std::vector<std::string> names = list_names(partial_path_);
    std::stable_partition(names.begin(), names.end(),
                          [&](const std::string& name) { return name != last_file; });
    for (std::size_t i = 0; i < names.size(); ++i) {
        const int code = rename_without_replacing(partial_path_ / names[i], final_path_ / names[i]);
        if (code == 0) continue;
        std::error_code ignored;
        for (std::size_t moved = 0; moved < i; ++moved) fs::remove_all(final_path_ / names[moved], ignored);
        throw_write_error(final_path_ / names[i], code);
    }
    ::rmdir(partial_path_.c_str());
    partial_path_.clear();
}

void PartialFolder::move_into_place() {
    if (::rename(partial_path_.c_str(), final_path_.c_str()) == 0) {
        partial_path_.clear();
    } else if ((errno == ENOTEMPTY || errno == EEXIST) && existing_ == ExistingFolder::replace) {
        exchange_folders(partial_path_, final_path_);  // the destructor removes the replaced folder
    } else {
        throw_write_error(final_path_, errno);
    }
}

fs::path make_shared_partial_folder(const fs::path& path, const std::string& digits) {
    const fs::path final = make_absolute_path(path);
    fs::path partial = make_partial_path(final, digits);
    std::error_code error;
    fs::create_directories(partial, error);
    if (error) throw_write_error(final, error.value());
    return partial;
}

void sync_file(const fs::path& path) { sync_to_disk(path); }

void replace_folder(const fs::path& partial, const fs::path& path) {
    sync_to_disk(partial);
    if (::rename(partial.c_str(), path.c_str()) != 0) {
        if (errno != ENOTEMPTY && errno != EEXIST) throw_write_error(path, errno);
        exchange_folders(partial, path);
        std::error_code ignored;
        fs::remove_all(partial, ignored);
    }
    sync_to_disk(make_absolute_path(path).parent_path());
}

void remove_folder(const fs::path& path) {
    const fs::path partial = make_partial_path(make_absolute_path(path));
    rename_or_throw(path, partial);
    std::error_code ignored;
    fs::remove_all(partial, ignored);
}

void remove_partial_entries(const fs::path& folder) noexcept {
    std::error_code ignored;
    std::vector<fs::path> partial_paths;
    for (fs::directory_iterator at(folder, ignored); !ignored && at != fs::directory_iterator();
         at.increment(ignored))
        if (is_partial(at->path().filename().string())) partial_paths.push_back(at->path());
    for (const fs::path& partial : partial_paths) fs::remove_all(partial, ignored);
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
    const fs::path final = make_absolute_path(path);
    const fs::path partial = make_partial_path(final);
    try {
        write_new_file(partial, bytes);
        sync_to_disk(partial);
        rename_or_throw(partial, final);
    } catch (...) {
        ::unlink(partial.c_str());
        throw;
    }
    sync_to_disk(final.parent_path());
}

}  // namespace trireme::archive
