// Opens and creates HDF5 files; reads and writes their attributes, which are a text or integers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5.hpp"

namespace trireme::archive::hdf5 {

// Throws ConfigError if `path` is no regular file or HDF5 cannot open it because it is cut short or damaged.
// `next` says what the user should do then.
Handle open_read_only(const std::filesystem::path& path,
                      std::string_view next = "copy it again, or make it again with `trireme prepare`");

// Creates a file and replaces an existing one. HDF5 protects the file's metadata with checksums (format of
// version 1.10). If `metadata_bytes` is not 0, HDF5 reserves one block of that size for metadata at the
// beginning. Throws ResourceError.
Handle create_file(const std::filesystem::path& path, std::uint64_t metadata_bytes = 0);

// Returns an upper bound of HDF5's metadata for `datasets` datasets with few attributes each; 0 if there are
// none.
std::uint64_t metadata_bytes_of(std::size_t datasets);

// Opens a file of create_file() for changes. Throws ResourceError.
Handle open_again(const std::filesystem::path& path);

// Writes everything that HDF5 buffers and returns the size of the file in bytes. Throws ResourceError.
std::uint64_t flush(const Handle& file);

// Discards everything that HDF5 buffers. Called for a file that cannot be finished, before any of its objects
// is closed. If a close fails because the disk is full, HDF5 keeps a half-closed file and crashes at program
// exit.
void abandon(const Handle& file) noexcept;

void write_text(Id object, const std::string& name, const std::string& value);
void write_number(Id object, const std::string& name, std::uint64_t value);
void write_numbers(Id object, const std::string& name, std::span<const std::uint64_t> values);

// Overwrite an existing attribute; a text must have the old length.
void write_text_again(Id object, const std::string& name, const std::string& value);
void write_number_again(Id object, const std::string& name, std::uint64_t value);

// Return nullopt or an empty vector if there is no such attribute or it has another type.
std::optional<std::string> read_text(Id object, const std::string& name);
std::optional<std::uint64_t> read_number(Id object, const std::string& name);
std::vector<std::uint64_t> read_numbers(Id object, const std::string& name);

}  // namespace trireme::archive::hdf5
