// A folder that appears under its final name only when it is complete.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::archive {

// The reaction of PartialFolder to an existing non-empty folder with the final name:
//   refuse    the constructor throws ConfigError
//   replace   commit() replaces the existing folder
enum class ExistingFolder { refuse, replace };

// Owns the folder `.NAME.partial-XXXXXXXX` beside `path`, where NAME is the last component of `path`. If `path`
// is an empty folder, the owned folder is `.partial-XXXXXXXX` inside of `path`. In this case commit() does not
// replace `path`, because `path` may be a mount point or the current folder of a shell. The destructor removes
// the owned folder unless commit() was called.
class PartialFolder {
public:
    // Creates the owned folder and its missing parents. Throws ConfigError if the user named a path that cannot
    // be written. Throws ResourceError if the machine refuses (no space, broken disk).
    PartialFolder(const std::filesystem::path& path, ExistingFolder existing);
    PartialFolder(const PartialFolder&) = delete;
    PartialFolder& operator=(const PartialFolder&) = delete;
    ~PartialFolder();

    const std::filesystem::path& final_path() const { return final_path_; }
    const std::filesystem::path& partial_path() const { return partial_path_; }

    // Syncs the owned folder and its files to disk. Then renames the owned folder to `path`, atomically if the
    // file system allows. If the owned folder is inside of `path`, moves its files into `path` one by one
    // instead, `last_file` last: readers consider a folder without `last_file` incomplete. Files that other
    // processes have created in `path` since the construction then remain. Throws like the constructor.
    void commit(const std::string& last_file);

private:
    void move_files_out(const std::string& last_file);
    void move_into_place();

    std::filesystem::path final_path_;
    ExistingFolder existing_;
    bool is_inside_final_path_ = false;                   // the owned folder is inside final_path_
    std::vector<std::filesystem::path> created_parents_;  // innermost first; empty after commit()
    std::filesystem::path partial_path_;                  // empty if there is nothing to remove
};

// Creates the folder `.NAME.partial-DIGITS` beside `path` unless another process has created this folder.
// Returns the path of the folder. `digits` is a result of make_random_digits(), equal in all processes that
// fill the folder. No process owns the folder: remove_partial_entries() removes a folder that was not
// completed. Throws like PartialFolder.
std::filesystem::path make_shared_partial_folder(const std::filesystem::path& path, const std::string& digits);

// Syncs the file's contents to disk. Throws like PartialFolder.
void sync_file(const std::filesystem::path& path);

// Syncs the list of entries of the folder `partial`, whose files are already synced, and renames the folder to
// `path`. Replaces an existing folder, atomically if the file system allows. Throws like PartialFolder.
void replace_folder(const std::filesystem::path& partial, const std::filesystem::path& path);

// Removes a folder. Renames the folder to a partial name (`.NAME.partial-XXXXXXXX`) first, so that readers
// never consider a partly removed folder complete. Throws like PartialFolder.
void remove_folder(const std::filesystem::path& path);

// Removes the files and folders with partial names from `folder`. They are the incomplete output of interrupted
// commands. Ignores errors.
void remove_partial_entries(const std::filesystem::path& folder) noexcept;

// Writes `bytes` to a new file with a partial name, syncs this file and renames it to `path`. Throws like
// PartialFolder.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace trireme::archive
