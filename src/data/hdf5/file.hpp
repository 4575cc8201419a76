// Opening and creating HDF5 files, and attributes that are one text or one number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/hdf5/check.hpp"

namespace trireme::hdf5 {

// Throws ConfigError where HDF5 cannot make sense of the file: it is cut short or damaged.
Handle open_read_only(const std::filesystem::path& path);

// Replaces a file of that name. Objects of the file carry HDF5's metadata checksums (format of 1.10).
// Throws ResourceError.
Handle create_file(const std::filesystem::path& path);

// For a file that cannot be finished, before anything of it is closed: what HDF5 still holds goes nowhere.
// Where a close fails because the disk is full, HDF5 keeps half a file and crashes over it when the program
// ends.
void abandon(const Handle& file) noexcept;

void write_text(hid_t object, const std::string& name, const std::string& value);
void write_number(hid_t object, const std::string& name, std::uint64_t value);

// Empty when there is no such attribute, or one of another kind.
std::optional<std::string> read_text(hid_t object, const std::string& name);
std::optional<std::uint64_t> read_number(hid_t object, const std::string& name);

}  // namespace trireme::hdf5
