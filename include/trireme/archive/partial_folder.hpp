// A folder that appears under its name only when it is whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::archive {

// What becomes of a folder of that name that holds something.
enum class Existing { refused, replaced };

// Owns a folder `.NAME.partial-XXXXXXXX` beside `path`, or `.partial-XXXXXXXX` in it where it is there and
// empty (it may be a mount, or somebody's current folder), and removes it with all that is in it unless it was
// kept.
class PartialFolder {
public:
    // Creates it empty; folders on the way are made. Throws ConfigError where the user named a place that
    // cannot be written, ResourceError where the machine refuses (no space, broken disk).
    PartialFolder(const std::filesystem::path& path, Existing existing);
    PartialFolder(const PartialFolder&) = delete;
    PartialFolder& operator=(const PartialFolder&) = delete;
    ~PartialFolder();

    const std::filesystem::path& final_path() const { return final_; }
    const std::filesystem::path& partial_path() const { return partial_; }

    // Syncs every file in it and itself to the disk, then puts it into place, in one step where the file system
    // can; where files must go there one by one, `last` is the one without which nobody takes them for whole.
    // What others have put there meanwhile stays, unless it is a folder that `existing` says to replace. Throws
    // as the constructor does.
    void keep(const std::string& last);

private:
    void move_out(const std::string& last);
    void put_into_place();

    std::filesystem::path final_;
    Existing existing_;
    bool is_inside_ = false;                   // of final_
    std::vector<std::filesystem::path> made_;  // folders on the way, innermost first; none once it is kept
    std::filesystem::path partial_;            // empty: nothing to remove
};

// A folder that several processes fill together: `.NAME.partial-DIGITS` beside `path`, which is there
// afterwards, whoever of them comes first. Nobody removes it by himself: see remove_partial(). Throws as a
// PartialFolder does.
std::filesystem::path joint_partial_folder(const std::filesystem::path& path, const std::string& digits);

// All that was written to the file is on the disk. Throws as a PartialFolder does.
void sync_file(const std::filesystem::path& path);

// Syncs the names in the folder, whose files are synced, and puts it in the place of whatever `path` is, in one
// step where the file system can. Throws as a PartialFolder does.
void put_in_place(const std::filesystem::path& partial, const std::filesystem::path& path);

// Removes a folder such that nobody ever takes what is left of it for whole. Throws as a PartialFolder does.
void remove_folder(const std::filesystem::path& path);

// Removes what commands that were ended have left in the folder under hidden names; as far as may be.
void remove_partial(const std::filesystem::path& folder) noexcept;

// Puts a small file with these bytes into place, whole and synced. Throws as a PartialFolder does.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace trireme::archive
