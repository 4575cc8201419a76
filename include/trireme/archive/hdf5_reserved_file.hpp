// A copy of an imprint whose attributes HDF5 may overwrite. Its space is taken from the disk before HDF5 needs
// it. If HDF5 itself met a full disk, it would keep a half-closed file and crash at program exit.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/hdf5_imprint.hpp"

namespace trireme::archive::hdf5 {

class ReservedFile {
public:
    // Creates the file and replaces an existing one. Attributes may be overwritten, but nothing may be added.
    // The elements of its datasets are not written yet. All functions throw ResourceError.
    ReservedFile(std::filesystem::path path, const Imprint& imprint);
    ReservedFile(const ReservedFile&) = delete;
    ReservedFile& operator=(const ReservedFile&) = delete;
    ~ReservedFile();  // discards what HDF5 buffers, unless closed

    Id id() const { return file_.get(); }

    // Writes everything that HDF5 buffers and closes the file.
    void close();

private:
    std::filesystem::path path_;
    Handle file_;
};

}  // namespace trireme::archive::hdf5
