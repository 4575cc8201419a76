// A file that appears under its name only when it is whole.
#pragma once

#include <filesystem>

namespace trireme {

// Owns `.NAME.partial-PID` in the folder of `path`, and removes it unless it was kept.
class PartialFile {
public:
    // Creates it empty. Throws ConfigError where the user named a place that cannot be written, ResourceError
    // where the machine refuses (no space, broken disk).
    explicit PartialFile(std::filesystem::path path);
    PartialFile(PartialFile&& other) noexcept;
    PartialFile& operator=(PartialFile&&) = delete;
    ~PartialFile();

    const std::filesystem::path& final_path() const { return final_; }
    const std::filesystem::path& partial_path() const { return partial_; }

    // Syncs it to the disk and renames it into place. Throws ResourceError.
    void keep();

private:
    std::filesystem::path final_;
    std::filesystem::path partial_;  // empty: nothing to remove
};

}  // namespace trireme
