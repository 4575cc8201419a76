// Opens and creates HDF5 files, and reads and writes attributes: texts, numbers and lists of numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5.hpp"

namespace trireme::archive::hdf5 {

// Opens a file for reading. Throws ConfigError if `path` is no regular file, or if HDF5 cannot open the file
// because it is cut short or damaged. In the message, `advice` says what the user should do.
Handle open_read_only(const std::filesystem::path& path,
                      std::string_view advice = "copy the file again, or make it again with `trireme prepare`");

// Creates a file and replaces an existing one. The file has the format of HDF5 1.10, which protects metadata
// with checksums. If `metadata_bytes` is not 0, HDF5 reserves a block of that size for metadata at the
// beginning of the file. Throws ResourceError.
Handle create_file(const std::filesystem::path& path, std::uint64_t metadata_bytes = 0);

// Returns an upper bound of the bytes of metadata in a file with `datasets` datasets, if each dataset has few
// attributes. Returns 0 if `datasets` is 0: create_file() then reserves no block.
std::uint64_t compute_metadata_bytes(std::size_t datasets);

// Opens a file that create_file() has created, for reading and writing. Throws ResourceError.
Handle open_for_changes(const std::filesystem::path& path);

// Writes everything that HDF5 buffers and returns the size of the file in bytes. Throws ResourceError.
std::uint64_t flush(const Handle& file);

// Discards everything that HDF5 buffers for a file that cannot be finished: HDF5 then writes nothing more to
// disk. Must be called before any object of the file is closed. Without this call, a close that fails because
// the disk is full would leave HDF5 with a half-closed file, and HDF5 would crash at program exit.
void abandon(const Handle& file) noexcept;

// Create an attribute of `object`, which is a file, a group or a dataset. Throw ResourceError.
void write_text(Id object, const std::string& name, const std::string& value);
void write_number(Id object, const std::string& name, std::uint64_t value);
void write_numbers(Id object, const std::string& name, std::span<const std::uint64_t> values);

// Overwrite an existing attribute. A new text must have the length of the old text. Throw ResourceError.
void overwrite_text(Id object, const std::string& name, const std::string& value);
void overwrite_number(Id object, const std::string& name, std::uint64_t value);

// Return the value of an attribute. Return nullopt or an empty vector if there is no such attribute, or if the
// attribute has another type. read_numbers() also returns an empty vector for a list of more than 64 numbers.
std::optional<std::string> read_text(Id object, const std::string& name);
std::optional<std::uint64_t> read_number(Id object, const std::string& name);
std::vector<std::uint64_t> read_numbers(Id object, const std::string& name);

}  // namespace trireme::archive::hdf5
