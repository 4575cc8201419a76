// What HDF5 says of the objects of a file, kept in memory: of many files that differ in little, HDF5 has to be
// asked for one.
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
    // `fill` makes groups, datasets and attributes in a file that is nowhere but in memory, and writes into no
    // dataset. Where `datasets` is not 0, what HDF5 writes about so many lies together at the beginning, and
    // they have so many bytes of their own. Throws ResourceError.
    explicit Imprint(const std::function<void(Id file)>& fill, std::size_t datasets = 0,
                     std::uint64_t data_bytes = 0);

    // Bytes of the file that HDF5 has written, from the first on.
    struct Stretch {
        std::uint64_t offset = 0;
        std::string bytes;
    };
    const std::vector<Stretch>& stretches() const { return stretches_; }
    std::uint64_t size() const { return size_; }  // of the file

    // All of a file that is small: zeros where HDF5 wrote nothing.
    std::string bytes() const;

private:
    std::vector<Stretch> stretches_;
    std::uint64_t size_ = 0;
};

// Changes the names of the files that the virtual datasets of a file show: in `bytes`, which are all of it,
// each `before` becomes `after`, which is as long. They are then, byte for byte, what HDF5 would have written.
// Throws BugError where `before` is anywhere but in such a name.
void rename_virtual_sources(std::string& bytes, std::string_view before, std::string_view after);

}  // namespace trireme::archive::hdf5
