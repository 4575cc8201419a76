// `trireme inspect`: what a file is, in words.
#pragma once

#include <filesystem>
#include <ostream>

namespace trireme {

// Describes a corpus: where it came from, its tokenizer, the lengths of its rows, the beginning of one. With
// `verify`, reads all of it and compares every SHA-256. Throws ConfigError for a file that is no corpus, or a
// damaged one.
void inspect(const std::filesystem::path& path, bool verify, std::ostream& out);

}  // namespace trireme
