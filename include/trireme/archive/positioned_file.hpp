// A file that is read at positions, by any number of threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace trireme {

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

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
};

}  // namespace trireme
