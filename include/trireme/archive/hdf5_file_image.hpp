// An imprint: the bytes that HDF5 writes into a new file for its groups, datasets and attributes, held in
// memory. HDF5 computes an imprint once. Many files that differ little are then copied from the imprint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/archive/hdf5.hpp"

namespace trireme::archive::hdf5 {

class Imprint {
public:
    // Calls `fill` with a temporary file, and keeps the bytes that HDF5 writes to this file. `fill` creates
    // groups, datasets and attributes, but must not write elements of datasets. `data_bytes` is the total size
    // of these elements. `datasets` is the number of datasets. If `datasets` is not 0, all metadata lies in one
    // block at the beginning of the file. Throws ResourceError.
    explicit Imprint(const std::function<void(Id file)>& fill, std::size_t datasets = 0,
                     std::uint64_t data_bytes = 0);

    // A contiguous range of bytes that HDF5 has written.
    struct ByteRange {
        std::uint64_t offset = 0;  // offset of the first byte in the file
        std::string bytes;
    };
    const std::vector<ByteRange>& ranges() const { return ranges_; }
    std::uint64_t size() const { return size_; }  // bytes of the file, including elements of datasets

    // Returns the bytes of the whole file, with zeros where HDF5 wrote nothing. Meant for small files.
    std::string assemble_file() const;

private:
    std::vector<ByteRange> ranges_;
    std::uint64_t size_ = 0;
};

// Changes the names of source files in the virtual datasets of a file. `bytes` are all bytes of the file. Each
// occurrence of `before` in these names becomes `after`, which must have the same length. The result equals,
// byte for byte, what HDF5 would have written. Throws BugError if `before` also occurs elsewhere in the file.
void rename_source_files(std::string& bytes, std::string_view before, std::string_view after);

}  // namespace trireme::archive::hdf5
