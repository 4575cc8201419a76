// An imprint: the bytes that HDF5 writes into a new file for its groups, datasets and attributes, held in
// memory. HDF5 computes an imprint once, and many files that differ little are copied from it.
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
    // `fill` creates groups, datasets and attributes in a file that exists only in memory. `fill` must not
    // write elements of datasets; `data_bytes` is the total size of these elements. If `datasets`, the number
    // of datasets, is not 0, all metadata lies in one block at the beginning of the file. Throws ResourceError.
    explicit Imprint(const std::function<void(Id file)>& fill, std::size_t datasets = 0,
                     std::uint64_t data_bytes = 0);

    // A contiguous range of bytes that HDF5 has written.
    struct ByteRange {
        std::uint64_t offset = 0;  // in the file, in bytes
        std::string bytes;
    };
    const std::vector<ByteRange>& ranges() const { return ranges_; }
    std::uint64_t size() const { return size_; }  // bytes of the file

    // Returns the bytes of the whole file, with zeros where HDF5 wrote nothing. Meant for small files.
    std::string assemble_file() const;

private:
    std::vector<ByteRange> ranges_;
    std::uint64_t size_ = 0;
};

// Renames the source files of the virtual datasets of a file. `bytes` is the whole file. Each occurrence of
// `before` in the names of source files becomes `after`, which has the same length. The result equals, byte for
// byte, what HDF5 would have written. Throws BugError if `before` also occurs elsewhere in the file.
void rename_source_files(std::string& bytes, std::string_view before, std::string_view after);

}  // namespace trireme::archive::hdf5
