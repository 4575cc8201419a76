// `trireme inspect` and `trireme convert`: describe files, and convert stored models to another format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "trireme/archive/safetensors.hpp"

namespace trireme::tools {

// Describes a corpus: its origin, its tokenizer, the lengths and classes of its rows, and one sample row.
// Describes a stored model: a checkpoint, a Hugging Face folder, or a .safetensors file. With `verify`, reads
// the whole file and checks every recorded SHA-256. Throws ConfigError if the file is neither or is damaged.
void inspect(const std::filesystem::path& path, bool verify, std::ostream& out);

// Options of `trireme convert`, which converts between Hugging Face's safetensors and checkpoints.
struct ConvertConfig {
    std::string input;
    std::string output;                         // a folder
    std::optional<archive::StoredType> dtype;   // of an export; if unset, the original types
    std::uint64_t shard_bytes = 5'000'000'000;  // maximum per exported file, unless one tensor is larger
    bool quiet = false;                         // no summary
};

// Converts Hugging Face files to the checkpoint OUTPUT/step-0, or a checkpoint to Hugging Face files in OUTPUT.
// The files appear once they are complete. Values keep their bits: converting to and fro gives the same
// tensors, and for a single file the same file. A summary goes to `out`. Throws ConfigError if the input is not
// a model or the output is not empty, ResourceError if the machine fails.
void convert(const ConvertConfig& config, std::ostream& out);

}  // namespace trireme::tools
