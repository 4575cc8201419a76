// Files that are read and written at positions, by any number of threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace trireme::archive {

// Owns the descriptor. Every error is a ConfigError that names the file: it is missing, a folder, forbidden,
// cut short, or cannot be read.
class PositionedFile {
public:
    explicit PositionedFile(std::filesystem::path path);
    PositionedFile(PositionedFile&& other) noexcept;
    PositionedFile& operator=(PositionedFile&& other) noexcept;
    ~PositionedFile();

    const std::filesystem::path& path() const { return path_; }
    std::uint64_t size() const { return size_; }  // bytes, when it was opened

    // Bytes [first, first + out.size()).
    void read(std::uint64_t first, std::span<std::byte> out) const;
    // Most will be read in the order in which it lies: the system may fetch more ahead.
    void expect_in_order() const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
};

// Owns the descriptor of a file that is there and is written without anybody's buffers. Throws ResourceError
// where the machine refuses (no space, a limit, a broken disk), ConfigError where it may not be written.
class WritableFile {
public:
    explicit WritableFile(std::filesystem::path path);
    WritableFile(WritableFile&& other) noexcept;
    WritableFile& operator=(WritableFile&&) = delete;
    ~WritableFile();

    // Takes the space for so many bytes from the disk, where its file system can do so at once.
    void reserve(std::uint64_t bytes) const;
    // From byte `first` on.
    void write(std::uint64_t first, std::span<const std::byte> bytes) const;
    // All that was written is on the disk.
    void sync() const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};

}  // namespace trireme::archive
