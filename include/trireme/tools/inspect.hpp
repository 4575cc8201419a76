// `trireme inspect`: what a file is, in words.
#pragma once

#include <filesystem>
#include <ostream>

namespace trireme {

// Describes a corpus: where it came from, its tokenizer, the lengths and classes of its rows, and one of them.
// Describes a stored model: a checkpoint, a folder of Hugging Face's, or a .safetensors file. With `verify`,
// reads all of it and compares every SHA-256. Throws ConfigError for a file that is neither, or a damaged one.
void inspect(const std::filesystem::path& path, bool verify, std::ostream& out);

}  // namespace trireme
