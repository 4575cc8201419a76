// Contiguous little-endian datasets with any number of axes. Code that knows their offsets reads and writes
// them without HDF5. Virtual arrays show boxes of other files as one dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/safetensors.hpp"

namespace trireme::archive::hdf5 {

// A contiguous dataset of type f32, f64 or u8.
struct Array {
    StoredType type = StoredType::f32;
    std::vector<std::uint64_t> shape = {};  // empty for a scalar
    std::uint64_t offset = 0;               // of the first byte in the file
    Handle dataset = {};                    // takes attributes

    std::uint64_t bytes() const;
};

// Creates a dataset whose space is allocated at once and not yet written. `name` is a path; missing groups are
// created. Throws ResourceError.
Array create_array(Id file, const std::string& name, StoredType type, const std::vector<std::uint64_t>& shape);

// Throws ConfigError if `file`, opened from `path`, has no dataset of that name or it is not a contiguous array
// of a supported type. `next` says what the user should do.
Array open_array(Id file, const std::filesystem::path& path, const std::string& name, std::string_view next);

// A box of a virtual array and the dataset that holds it, in a file of the same folder.
struct VirtualBox {
    std::string file;
    std::string dataset;
    std::vector<std::uint64_t> shape;   // of that dataset; as many elements as `extent`
    std::vector<std::uint64_t> offset;  // per axis of the virtual array
    std::vector<std::uint64_t> extent;
};

// Creates a dataset `name` that shows boxes of other files as one array. It is meant for users' tools only,
// because HDF5 shows zeros if a box is missing. Throws ResourceError.
void create_virtual_array(Id file, const std::string& name, StoredType type,
                          const std::vector<std::uint64_t>& shape, const std::vector<VirtualBox>& boxes);

}  // namespace trireme::archive::hdf5
