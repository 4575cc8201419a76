// Drops the records of steps after the checkpoint from which a run is resumed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme::records {

// Keeps only those lines of the file `path` that are records of steps below `end`. The lines must be in the
// order of their steps. If a line before the records of later steps is not a record, the original file is first
// copied to a file with `.damaged` appended to the name. Returns one sentence per reason for which lines were
// dropped. Throws ConfigError or ResourceError if a file cannot be written.
std::vector<std::string> truncate_records(const std::filesystem::path& path, std::size_t end);

}  // namespace trireme::records
