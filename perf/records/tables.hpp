// Makes tables in documents from recorded files.
//
//   <!-- table scaling h100-simulated/gpt-13b-weak.csv -->
//   | ... |
//   <!-- end of table -->
//
// Kinds: scaling (schedules by ranks), stragglers and half-stragglers (see stragglers.hpp; their source
// is a folder).
#pragma once

#include <filesystem>
#include <string>

namespace trireme::perf {

// Returns the document with every such table updated. Throws ConfigError if a kind is unknown, if a file cannot
// be read or lacks a column, or if a table has no end.
std::string update_tables(const std::string& document, const std::filesystem::path& records);

}  // namespace trireme::perf
