// Datasets of floating-point numbers with any number of axes, each in one piece of its file, little-endian,
// with the SHA-256 of its bytes in the attribute `sha256`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/safetensors.hpp"

namespace trireme::hdf5 {

struct Array {
    std::string name;                     // without the group's
    StoredType type = StoredType::f32;    // or f64
    std::vector<std::uint64_t> shape;     // none: one number
    std::uint64_t offset = 0;             // of its first byte in the file
    std::string sha256;                   // 64 hexadecimal digits
    StoredType source = StoredType::f32;  // the attribute `source`: the type that its values come from

    std::uint64_t bytes() const;
};

// The space of the array is in the file at once: its bytes may be written by write(), or without HDF5 at
// offset() by anybody who knows where.
class ArrayWriter {
public:
    // `name` is a path; groups on the way are made. Of `array`: type, shape, source. Throws ResourceError, like
    // all below.
    ArrayWriter(Id file, std::string name, const Array& array);

    std::uint64_t offset() const;  // of the array's first byte in the file, once that is flushed
    void write(std::span<const std::byte> values);  // all of it
    void finish(const std::string& sha256);         // of its bytes

private:
    std::uint64_t elements() const;

    std::string name_;
    Handle dataset_;
};

// The arrays of one group, by name; from then on they are read at their offsets, without HDF5. Throws
// ConfigError where the group is not there, or holds anything but such arrays; `next` says what to do about it.
std::vector<Array> read_arrays(Id file, const std::filesystem::path& path, const std::string& group,
                               std::string_view next);

// A box of an array, and the file beside this one whose dataset it is.
struct VirtualBox {
    std::string file;
    std::string dataset;
    std::vector<std::uint64_t> offset;  // per axis
    std::vector<std::uint64_t> extent;
};

// A dataset `name` that shows boxes of other files as one array. Only people read it: HDF5 shows zeros where a
// box is missing. Throws ResourceError.
void create_virtual_array(Id file, const std::string& name, StoredType type,
                          const std::vector<std::uint64_t>& shape, const std::vector<VirtualBox>& boxes);

}  // namespace trireme::hdf5
