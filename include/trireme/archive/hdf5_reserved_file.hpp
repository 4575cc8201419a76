// An HDF5 file whose space is taken from the disk before HDF5 needs it. Where HDF5 itself finds the disk full,
// it is left with half a file and crashes over it when the program ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "trireme/archive/hdf5.hpp"

namespace trireme::hdf5 {

class ReservedFile {
public:
    // Creates it, and replaces a file of that name. Throws ResourceError, like all below.
    explicit ReservedFile(std::filesystem::path path);
    // Of `datasets` datasets, whose own bytes others write: takes the space for what HDF5 writes about them,
    // which lies together.
    ReservedFile(std::filesystem::path path, std::size_t datasets);
    ReservedFile(const ReservedFile&) = delete;
    ReservedFile& operator=(const ReservedFile&) = delete;
    ~ReservedFile();  // unclosed: what HDF5 still holds goes nowhere

    Id id() const { return file_.get(); }

    // Before a dataset of so many bytes is created: takes the space for it, and for what HDF5 writes about it.
    void reserve(std::uint64_t bytes);

    // Writes what HDF5 still holds, and gives back what was reserved in vain. The size of the file then, in
    // bytes.
    std::uint64_t close();

private:
    void take(std::uint64_t end);

    std::filesystem::path path_;
    Handle file_;
    std::uint64_t wanted_ = 0;    // bytes
    std::uint64_t reserved_ = 0;  // bytes
};

}  // namespace trireme::hdf5
