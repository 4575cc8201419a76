// A file that appears under its name only when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>

namespace trireme::archive {

// Owns `.NAME.partial-XXXXXXXX` in the folder of `path`, and removes it unless it was kept.
class PartialFile {
public:
    // Creates it empty, on a disk that has at least so many bytes free. Throws ConfigError where the user named
    // a place that cannot be written, ResourceError where the machine refuses (no space, broken disk).
    explicit PartialFile(std::filesystem::path path, std::uint64_t least_space = 0);
    PartialFile(PartialFile&& other) noexcept;
    PartialFile& operator=(PartialFile&&) = delete;
    ~PartialFile();

    const std::filesystem::path& final_path() const { return final_; }
    const std::filesystem::path& partial_path() const { return partial_; }

    // Takes the space for so many bytes from the disk now, before anybody counts on it; where that must be
    // asked for, for `ahead` more. Throws ResourceError where it is not there.
    void reserve(std::uint64_t bytes, std::uint64_t ahead = 0);

    // Cuts off what was reserved in vain, syncs it to the disk, renames it into place. Throws ResourceError.
    void keep(std::uint64_t bytes);

private:
    std::filesystem::path final_;
    std::filesystem::path partial_;  // empty: nothing to remove
    std::uint64_t reserved_ = 0;     // bytes
};

}  // namespace trireme::archive
