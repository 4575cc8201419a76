// Makes tables in documents from recorded files.
//
//   <!-- table scaling h100-simulated/gpt-13b-weak.csv -->
//   | ... |
//   <!-- end of table -->
//
// Kinds: scaling (schedules by ranks), stragglers and half-stragglers (from a folder: perf/stragglers).
#pragma once

#include <filesystem>
#include <string>

namespace trireme::perf {

// Returns the document with every such table updated. Throws ConfigError if a kind is unknown or a file has no
// such table.
std::string update_tables(const std::string& document, const std::filesystem::path& records);

}  // namespace trireme::perf
