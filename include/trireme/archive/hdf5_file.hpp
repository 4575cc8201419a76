// Opening and creating HDF5 files, and attributes that are one text or some numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5.hpp"

namespace trireme::archive::hdf5 {

// Throws ConfigError where it is no regular file, or HDF5 cannot make sense of it: it is cut short or damaged.
// `next` says what to do about that.
Handle open_read_only(const std::filesystem::path& path,
                      std::string_view next = "copy it again, or make it again with `trireme prepare`");

// Replaces a file of that name. Objects of the file carry HDF5's metadata checksums (format of 1.10).
// Where it is known that HDF5 writes so many bytes about objects, these lie together at the file's beginning.
// Throws ResourceError.
Handle create_file(const std::filesystem::path& path, std::uint64_t metadata_bytes = 0);

// At least what HDF5 writes about so many datasets with few attributes each; 0 for none.
std::uint64_t metadata_bytes_of(std::size_t datasets);

// A file of create_file()'s, to be changed. Throws ResourceError.
Handle open_again(const std::filesystem::path& path);

// Writes what HDF5 still holds; the size of the file then, in bytes. Throws ResourceError.
std::uint64_t flush(const Handle& file);

// For a file that cannot be finished, before anything of it is closed: what HDF5 still holds goes nowhere.
// Where a close fails because the disk is full, HDF5 keeps half a file and crashes over it when the program
// ends.
void abandon(const Handle& file) noexcept;

void write_text(Id object, const std::string& name, const std::string& value);
void write_number(Id object, const std::string& name, std::uint64_t value);
void write_numbers(Id object, const std::string& name, std::span<const std::uint64_t> values);

// Over an attribute of that name; a text over one as long.
void write_text_again(Id object, const std::string& name, const std::string& value);
void write_number_again(Id object, const std::string& name, std::uint64_t value);

// Empty when there is no such attribute, or one of another kind.
std::optional<std::string> read_text(Id object, const std::string& name);
std::optional<std::uint64_t> read_number(Id object, const std::string& name);
std::vector<std::uint64_t> read_numbers(Id object, const std::string& name);  // empty: likewise

}  // namespace trireme::archive::hdf5
