// Arrays: contiguous little-endian datasets with any number of axes. The elements are read and written without
// HDF5, at known offsets in the file. A virtual array presents datasets of other files as one dataset. Each of
// these datasets fills one box of the virtual array: a range of indices per axis.
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

// A contiguous dataset of type f32, f64, u64 or u8.
struct Array {
    StoredType type = StoredType::f32;
    std::vector<std::uint64_t> shape = {};  // empty for a scalar
    std::uint64_t offset = 0;               // offset of the first element in the file, in bytes
    Handle dataset = {};                    // the open dataset, for its attributes

    std::uint64_t count_bytes() const;
};

// Creates a dataset, allocates its space in the file, and leaves its elements unwritten. `name` is a path
// within the file; missing groups of the path are created. Throws ResourceError.
Array create_array(Id file, const std::string& name, StoredType type, const std::vector<std::uint64_t>& shape);

bool has_array(Id file, const std::string& name);  // `name` is in the root group

// Opens the dataset `name` of `file`, whose path is `path`. Throws ConfigError if `file` has no such dataset,
// or if the dataset is not contiguous or has a type that Array does not allow. In the message, `advice` says
// what the user should do.
Array open_array(Id file, const std::filesystem::path& path, const std::string& name, std::string_view advice);

// A box of a virtual array, and the dataset with the elements of the box in row-major order. The dataset is in
// another file of the same folder.
struct VirtualBox {
    std::string file;  // file name, without a folder
    std::string dataset;
    std::vector<std::uint64_t> shape;   // shape of `dataset`, which has the same number of elements as the box
    std::vector<std::uint64_t> offset;  // first index of the box, per axis of the virtual array
    std::vector<std::uint64_t> extent;  // number of indices of the box, per axis of the virtual array
};

// Creates a dataset `name` that presents boxes in other files as one array. Virtual arrays are for users'
// tools. Trireme does not read virtual arrays, since HDF5 silently reads zeros if the file of a box is missing.
// Throws ResourceError.
void create_virtual_array(Id file, const std::string& name, StoredType type,
                          const std::vector<std::uint64_t>& shape, const std::vector<VirtualBox>& boxes);

}  // namespace trireme::archive::hdf5
