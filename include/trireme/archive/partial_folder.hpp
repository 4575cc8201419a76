// A folder that appears under its name only when it is whole.
#pragma once

#include <filesystem>
#include <string_view>

namespace trireme {

// Owns `.NAME.partial-PID` beside `path`, and removes it with all that is in it unless it was kept.
class PartialFolder {
public:
    // Creates it empty; folders on the way are made. Throws ConfigError where the user named a place that
    // cannot be written, ResourceError where the machine refuses (no space, broken disk).
    explicit PartialFolder(std::filesystem::path path);
    PartialFolder(PartialFolder&& other) noexcept;
    PartialFolder& operator=(PartialFolder&&) = delete;
    ~PartialFolder();

    const std::filesystem::path& final_path() const { return final_; }
    const std::filesystem::path& partial_path() const { return partial_; }

    // Syncs every file in it and itself to the disk, then puts it into place; a folder of that name is
    // replaced, in one step where the file system can. Throws ResourceError.
    void keep();

private:
    std::filesystem::path final_;
    std::filesystem::path partial_;  // empty: nothing to remove
};

// Puts a small file with these bytes into place, whole and synced. Throws ResourceError.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace trireme
