// Files that any number of threads read and write concurrently, at byte offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace trireme::archive {

// A file that is open for reading. Every error is a ConfigError that names the file and the reason: the file is
// missing, is no regular file, may not be read by this user, is cut short, or is on a broken disk.
class PositionedFile {
public:
    explicit PositionedFile(std::filesystem::path path);
    PositionedFile(PositionedFile&& other) noexcept;
    PositionedFile& operator=(PositionedFile&& other) noexcept;
    ~PositionedFile();

    const std::filesystem::path& path() const { return path_; }
    std::uint64_t size() const { return size_; }  // bytes of the file when it was opened

    // Reads bytes [first, first + out.size()).
    void read(std::uint64_t first, std::span<std::byte> out) const;
    // Advises the operating system to read ahead, because most reads are sequential.
    void advise_sequential() const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
};

// An existing file that is open for writing through the page cache, without a buffer in this object. All
// functions throw ResourceError if the machine refuses (no space, a limit, a broken disk), and ConfigError if
// writing is not permitted.
class WritableFile {
public:
    explicit WritableFile(std::filesystem::path path);
    WritableFile(WritableFile&& other) noexcept;
    WritableFile& operator=(WritableFile&&) = delete;
    ~WritableFile();

    // Reserves disk space for a file of `bytes` bytes. If the file system cannot reserve space cheaply, only
    // checks that the disk has enough free space.
    void reserve(std::uint64_t bytes) const;
    // Writes `bytes` at byte offset `first`.
    void write(std::uint64_t first, std::span<const std::byte> bytes) const;
    // Waits until all written bytes are on disk.
    void sync() const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};

}  // namespace trireme::archive
