// Files that the program reads or starts: input files, and commands in a search path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace trireme {

// Opens `path` for reading and returns the file descriptor, which the caller closes. Never blocks, not even on
// a pipe. Throws ConfigError if the file is missing, cannot be opened, or is not a regular file. In the
// message, `label` (for example "--layout") precedes the path.
int open_regular_file(const std::filesystem::path& path, std::string_view label = {});

// Returns all bytes of a regular file. Throws ConfigError if open_regular_file() does, or if the file has more
// than `max_bytes` bytes. Throws ResourceError if the machine has not enough memory for the bytes.
std::string read_regular_file(const std::filesystem::path& path, std::string_view label = {},
                              std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max());

// Returns the path of the executable file `name` in the first folder of `search_path` that has such a file.
// Returns nullopt if no folder has it. `search_path` has the form of the environment variable PATH: folders
// separated by colons.
std::optional<std::filesystem::path> find_command(const std::string& search_path, const std::string& name);

}  // namespace trireme
