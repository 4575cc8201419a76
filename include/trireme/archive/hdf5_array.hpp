// Arrays with any number of axes, each in one piece of its file, little-endian: written and read at their
// offsets, without HDF5, by anybody who knows where. Beside them arrays that show boxes of other files.
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

// Of type f32, f64 or u8.
struct Array {
    StoredType type = StoredType::f32;
    std::vector<std::uint64_t> shape = {};  // none: one number
    std::uint64_t offset = 0;               // of its first byte in the file
    Handle dataset = {};                    // for attributes

    std::uint64_t bytes() const;
};

// Its space is in the file at once, and holds nothing yet. `name` is a path; groups on the way are made. Throws
// ResourceError.
Array create_array(Id file, const std::string& name, StoredType type, const std::vector<std::uint64_t>& shape);

// Throws ConfigError where `file`, which lies at `path`, has no array of that name, or what is there is no such
// array; `next` says what to do about it.
Array open_array(Id file, const std::filesystem::path& path, const std::string& name, std::string_view next);

// A box of an array, and the file beside this one that has it as a dataset.
struct VirtualBox {
    std::string file;
    std::string dataset;
    std::vector<std::uint64_t> shape;   // of that dataset: as many elements as `extent`
    std::vector<std::uint64_t> offset;  // per axis of the array
    std::vector<std::uint64_t> extent;
};

// A dataset `name` that shows boxes of other files as one array. Only people read it: HDF5 shows zeros where a
// box is missing. Throws ResourceError.
void create_virtual_array(Id file, const std::string& name, StoredType type,
                          const std::vector<std::uint64_t>& shape, const std::vector<VirtualBox>& boxes);

}  // namespace trireme::archive::hdf5
