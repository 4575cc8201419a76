// One-dimensional datasets of unsigned integers, stored little-endian and in chunks. Each chunk has a
// fletcher32 checksum, and the attribute `sha256` holds the SHA-256 of all bytes.
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

// Writes a dataset. Buffers elements and writes whole chunks, so that HDF5 writes each chunk and its checksum
// once.
class DatasetWriter {
public:
    // `element_bytes` is 1, 2, 4 or 8. All functions throw ResourceError.
    DatasetWriter(Id file, std::string name, std::size_t element_bytes, std::size_t chunk_elements);

    void append(std::span<const std::byte> elements);  // whole elements only

    // Writes the remaining elements and the attribute `sha256`, and returns the SHA-256. Nothing may be
    // appended after this call.
    std::string finish();

private:
    void write_pending();

    std::string name_;
    std::size_t element_bytes_;
    std::size_t chunk_bytes_;
    Handle dataset_;
    std::vector<std::byte> pending_bytes_;  // bytes of the incomplete chunk
    std::uint64_t written_elements_ = 0;
    Sha256 hash_;
};

// Reads a dataset that DatasetWriter has written.
class DatasetReader {
public:
    // `path` is the path of `file`, for messages. Throws ConfigError if the file has no dataset `name`, or if
    // the dataset is not a list of unsigned integers.
    DatasetReader(Id file, const std::filesystem::path& path, const std::string& name);

    std::uint64_t size() const { return size_; }                  // number of elements
    std::size_t element_bytes() const { return element_bytes_; }  // bytes of one element in the file
    // The attribute `sha256`, unchecked; empty if it is missing.
    const std::string& recorded_sha256() const { return recorded_sha256_; }

    // Reads elements [first, first + out.size()) in one HDF5 call. Elements narrower than those of `out` are
    // widened. Throws ConfigError if a chunk does not match its checksum.
    void read(std::uint64_t first, std::span<std::uint8_t> out) const;
    void read(std::uint64_t first, std::span<std::uint32_t> out) const;
    void read(std::uint64_t first, std::span<std::uint64_t> out) const;

    // Reads all elements and returns the SHA-256 of their bytes.
    std::string compute_sha256() const;
    // Returns the bytes of all elements. Meant for small datasets.
    std::string read_all_bytes() const;

private:
    void read_raw(Id memory_type, std::uint64_t first, std::uint64_t count, void* out) const;

    std::string what_;  // name of the dataset in messages, for example "/tokens of FILE"
    Handle dataset_;
    std::uint64_t size_ = 0;
    std::size_t element_bytes_ = 0;
    std::string recorded_sha256_;
};

}  // namespace trireme::archive::hdf5
