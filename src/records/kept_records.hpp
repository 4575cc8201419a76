// Records that a resumed run keeps of the steps before its checkpoint.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme::records {

// Keeps the lines of `path` that are records of the first `step` steps; lines are in the order of their steps.
// The original file stays as NAME.damaged if a line among them is not a record. Returns one
// sentence per reason for which lines were dropped. Throws ConfigError if the file cannot be written.
std::vector<std::string> keep_records(const std::filesystem::path& path, std::size_t step);

}  // namespace trireme::records
