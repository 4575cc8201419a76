// A file that is copied from an imprint and whose attributes are then overwritten. The copy occupies the disk
// space of all metadata before HDF5 opens the file. Otherwise, HDF5 could meet a full disk, keep a half-closed
// file and crash at program exit.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/hdf5_file_image.hpp"

namespace trireme::archive::hdf5 {

class ReservedFile {
public:
    // Copies `imprint` to the file `path`, and replaces an existing file. The elements of datasets are not
    // written. Attributes may be overwritten, but no objects or attributes may be added. The constructor and
    // close() throw ResourceError if the machine or HDF5 reports an error. The constructor throws ConfigError
    // if writing `path` is not permitted.
    ReservedFile(std::filesystem::path path, const Imprint& imprint);
    ReservedFile(const ReservedFile&) = delete;
    ReservedFile& operator=(const ReservedFile&) = delete;
    ~ReservedFile();  // discards what HDF5 buffers, unless close() was called

    Id id() const { return file_.get(); }

    // Writes everything that HDF5 buffers and closes the file.
    void close();

private:
    std::filesystem::path path_;
    Handle file_;
};

}  // namespace trireme::archive::hdf5
