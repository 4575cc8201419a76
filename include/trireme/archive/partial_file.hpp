// A file that appears under its final name only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>

namespace trireme::archive {

// Owns `.NAME.partial-XXXXXXXX` in the folder of `path` and removes it unless keep() was called.
class PartialFile {
public:
    // Creates an empty file; if `least_space` is not 0, reserves that many bytes. Throws ConfigError if the
    // user named a path that cannot be written, ResourceError if the machine refuses (no space, broken disk).
    explicit PartialFile(std::filesystem::path path, std::uint64_t least_space = 0);
    PartialFile(PartialFile&& other) noexcept;
    PartialFile& operator=(PartialFile&&) = delete;
    ~PartialFile();

    const std::filesystem::path& final_path() const { return final_; }
    const std::filesystem::path& partial_path() const { return partial_; }

    // Reserves disk space for `bytes` in total. If less is reserved so far, reserves `ahead` more, so that the
    // next calls have nothing to do. Throws ResourceError if there is no space.
    void reserve(std::uint64_t bytes, std::uint64_t ahead = 0);

    // Truncates the file to `bytes`, syncs it to disk and renames it to its final name. Throws ResourceError.
    void keep(std::uint64_t bytes);

private:
    std::filesystem::path final_;
    std::filesystem::path partial_;  // empty if there is nothing to remove
    std::uint64_t reserved_ = 0;     // bytes
};

}  // namespace trireme::archive
