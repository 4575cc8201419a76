// Cuts the records of a resumed run back to the steps before its checkpoint.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme::records {

// Keeps only the lines of `path` that are records of the first `step` steps; lines are in the order of their
// steps. If a line among them is not a record, a copy of the original file stays as NAME.damaged. Returns one
// sentence per reason for which lines were dropped. Throws ConfigError or ResourceError if a file cannot be
// written.
std::vector<std::string> keep_records(const std::filesystem::path& path, std::size_t step);

}  // namespace trireme::records
