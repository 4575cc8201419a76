// A copy of an imprint that HDF5 may change a little, in space that is taken from the disk before HDF5 needs
// it. Where HDF5 itself finds the disk full, it is left with half a file and crashes over it when the program
// ends.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/hdf5_imprint.hpp"

namespace trireme::archive::hdf5 {

class ReservedFile {
public:
    // Creates it, and replaces a file of that name. Attributes may be written again, and nothing be added. The
    // bytes of its datasets are not there yet. Throws ResourceError, like all below.
    ReservedFile(std::filesystem::path path, const Imprint& imprint);
    ReservedFile(const ReservedFile&) = delete;
    ReservedFile& operator=(const ReservedFile&) = delete;
    ~ReservedFile();  // unclosed: what HDF5 still holds goes nowhere

    Id id() const { return file_.get(); }

    // Writes what HDF5 still holds.
    void close();

private:
    std::filesystem::path path_;
    Handle file_;
};

}  // namespace trireme::archive::hdf5
