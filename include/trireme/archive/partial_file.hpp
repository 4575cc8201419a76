// A file that appears under its final name only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>

namespace trireme::archive {

// Owns the file `.NAME.partial-XXXXXXXX` in the folder of `path`, where NAME is the file name of `path`. The
// destructor removes this file unless commit() was called.
class PartialFile {
public:
    // Creates the partial file. If `min_bytes` is not 0 and the file system can reserve disk space, reserves
    // space for this number of bytes. Throws ConfigError if the user named a path that cannot be written.
    // Throws ResourceError if the machine refuses (no space, broken disk).
    explicit PartialFile(std::filesystem::path path, std::uint64_t min_bytes = 0);
    PartialFile(PartialFile&& other) noexcept;
    PartialFile& operator=(PartialFile&&) = delete;
    ~PartialFile();

    const std::filesystem::path& final_path() const { return final_path_; }
    const std::filesystem::path& partial_path() const { return partial_path_; }

    // Ensures that disk space for `bytes` bytes is reserved, if the file system can reserve space. If earlier
    // calls of reserve() reserved less than `bytes`, this call reserves `bytes` + `advance_bytes`, so that the
    // next calls have nothing to do. Throws ResourceError if there is no space.
    void reserve(std::uint64_t bytes, std::uint64_t advance_bytes = 0);

    // Truncates the file to `bytes` bytes, syncs it to disk and renames it to its final name. Throws
    // ResourceError.
    void commit(std::uint64_t bytes);

private:
    std::filesystem::path final_path_;
    std::filesystem::path partial_path_;  // empty if there is nothing to remove
    std::uint64_t reserved_bytes_ = 0;    // bytes reserved by reserve(), not by the constructor
};

}  // namespace trireme::archive
