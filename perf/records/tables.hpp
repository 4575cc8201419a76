// Tables in documents that are made from recorded files.
//
//   <!-- table scaling h100-simulated/gpt-13b-weak.csv -->
//   | ... |
//   <!-- end of table -->
//
// Kinds: scaling (schedules by ranks), stragglers and half-stragglers (of a folder: perf/stragglers).
#pragma once

#include <filesystem>
#include <string>

namespace trireme::perf {

// The document with every such table made again. Throws ConfigError for an unknown kind and a file that has no
// such table.
std::string with_tables(const std::string& document, const std::filesystem::path& records);

}  // namespace trireme::perf
