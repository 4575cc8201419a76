// One-dimensional datasets of unsigned integers: little-endian and chunked, with a fletcher32 checksum per
// chunk and the SHA-256 of all bytes in the attribute `sha256`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5.hpp"
#include "trireme/base/sha256.hpp"

namespace trireme::archive::hdf5 {

// Buffers elements and writes whole chunks, so that each chunk is checksummed and written once.
class DatasetWriter {
public:
    // `element_bytes` is 1, 2, 4 or 8. All functions throw ResourceError.
    DatasetWriter(Id file, std::string name, std::size_t element_bytes, std::size_t chunk_elements);

    void append(std::span<const std::byte> elements);  // whole elements only

    // Writes the remaining elements and the attribute, and returns the SHA-256. Nothing may be appended
    // afterwards.
    std::string finish();

private:
    void write_pending();

    std::string name_;
    std::size_t element_bytes_;
    std::size_t chunk_bytes_;
    Handle dataset_;
    std::vector<std::byte> pending_;
    std::uint64_t written_ = 0;  // elements
    Sha256 sum_;
};

class DatasetReader {
public:
    // Throws ConfigError if the file has no such dataset or it has another form.
    DatasetReader(Id file, const std::filesystem::path& path, const std::string& name);

    std::uint64_t size() const { return size_; }
    std::size_t element_bytes() const { return element_bytes_; }
    const std::string& recorded_sha256() const { return recorded_sha256_; }

    // Reads elements [first, first + out.size()) in one HDF5 call and widens narrower types. Throws ConfigError
    // if a chunk does not match its checksum.
    void read(std::uint64_t first, std::span<std::uint8_t> out) const;
    void read(std::uint64_t first, std::span<std::uint32_t> out) const;
    void read(std::uint64_t first, std::span<std::uint64_t> out) const;

    // Reads all elements and returns the SHA-256 of their bytes.
    std::string sha256() const;
    // Returns all bytes; meant for small datasets.
    std::string bytes() const;

private:
    void read_raw(Id memory_type, std::uint64_t first, std::uint64_t count, void* out) const;

    std::string what_;  // "/tokens of FILE"
    Handle dataset_;
    std::uint64_t size_ = 0;
    std::size_t element_bytes_ = 0;
    std::string recorded_sha256_;
};

}  // namespace trireme::archive::hdf5
