// A folder that appears under its final name only when it is complete.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::archive {

// Says whether a non-empty folder of the same name is an error or is replaced.
enum class Existing { refused, replaced };

// Owns a folder `.NAME.partial-XXXXXXXX` beside `path`. If `path` is an empty folder, the owned one is
// `.partial-XXXXXXXX` inside it, because `path` may be a mount or some shell's current folder. Removes the
// owned folder and its contents unless keep() was called.
class PartialFolder {
public:
    // Creates the owned folder and missing parents. Throws ConfigError if the user named a path that cannot be
    // written, ResourceError if the machine refuses (no space, broken disk).
    PartialFolder(const std::filesystem::path& path, Existing existing);
    PartialFolder(const PartialFolder&) = delete;
    PartialFolder& operator=(const PartialFolder&) = delete;
    ~PartialFolder();

    const std::filesystem::path& final_path() const { return final_; }
    const std::filesystem::path& partial_path() const { return partial_; }

    // Syncs the folder and every file in it to disk, then moves it into place, with one rename if the file
    // system allows. Inside an empty folder the files are moved one by one, with `last` as the final one:
    // without it, readers consider the folder incomplete. Files that others created meanwhile stay, except in a
    // folder that `existing` replaces. Throws like the constructor.
    void keep(const std::string& last);

private:
    void move_out(const std::string& last);
    void put_into_place();

    std::filesystem::path final_;
    Existing existing_;
    bool is_inside_ = false;                   // the partial folder is inside final_
    std::vector<std::filesystem::path> made_;  // created parents, innermost first; empty after keep()
    std::filesystem::path partial_;            // empty if there is nothing to remove
};

// Creates a folder that several processes fill together, `.NAME.partial-DIGITS` beside `path`, unless another
// process has created it. No process owns it: see remove_partial(). Throws like PartialFolder.
std::filesystem::path joint_partial_folder(const std::filesystem::path& path, const std::string& digits);

// Syncs the file's contents to disk. Throws like PartialFolder.
void sync_file(const std::filesystem::path& path);

// Syncs the folder's entries, whose files are already synced, and moves it to `path`. An existing folder is
// replaced, in one step if the file system allows. Throws like PartialFolder.
void put_in_place(const std::filesystem::path& partial, const std::filesystem::path& path);

// Removes a folder such that a partly removed one is never considered complete. Throws like PartialFolder.
void remove_folder(const std::filesystem::path& path);

// Removes hidden partial entries that ended commands have left in the folder. Ignores errors.
void remove_partial(const std::filesystem::path& folder) noexcept;

// Writes a small file, syncs it and moves it into place. Throws like PartialFolder.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace trireme::archive
