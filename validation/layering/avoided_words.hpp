// Counts words that the sources avoid: see docs/design/glossary.md.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace trireme::layering {

// Returns the number of comments in a C++ source that begin without a subject ("Of a rank ..."), plus the
// numbers of avoided words in its comments and of avoided names in its code.
std::size_t count_avoided(const std::string& text);

// Returns the count of every source below `root` that has any, by its path.
std::map<std::string, std::size_t> count_avoided_below(const std::filesystem::path& root);

// Read and write files of lines "path count".
std::map<std::string, std::size_t> read_counts(const std::filesystem::path& file);
void write_counts(const std::filesystem::path& file, const std::map<std::string, std::size_t>& counts);

}  // namespace trireme::layering
