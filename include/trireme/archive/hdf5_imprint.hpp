// The metadata of an HDF5 file as an image in memory. HDF5 creates it once for many files that differ little.
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
    // `fill` creates groups, datasets and attributes in a file that exists only in memory; it writes no dataset
    // elements. If `datasets` is not 0, the metadata of that many datasets lies together at the file's
    // beginning. `data_bytes` is the size of their elements. Throws ResourceError.
    explicit Imprint(const std::function<void(Id file)>& fill, std::size_t datasets = 0,
                     std::uint64_t data_bytes = 0);

    // A contiguous run of bytes that HDF5 has written.
    struct Stretch {
        std::uint64_t offset = 0;
        std::string bytes;
    };
    const std::vector<Stretch>& stretches() const { return stretches_; }
    std::uint64_t size() const { return size_; }  // bytes of the file

    // Returns the whole file, with zeros where HDF5 wrote nothing. Meant for small files.
    std::string bytes() const;

private:
    std::vector<Stretch> stretches_;
    std::uint64_t size_ = 0;
};

// Renames the source files of a file's virtual datasets. `bytes` is the whole file; each `before` becomes
// `after`, which has the same length. The result is byte for byte what HDF5 would have written. Throws BugError
// if `before` occurs anywhere else.
void rename_virtual_sources(std::string& bytes, std::string_view before, std::string_view after);

}  // namespace trireme::archive::hdf5
