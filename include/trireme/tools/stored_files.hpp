// `trireme inspect` and `trireme convert`: describe files, and convert stored models to another format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "trireme/archive/safetensors.hpp"

namespace trireme::tools {

// Describes a corpus (its origin, its tokenizer, the lengths and classes of its rows, and one row) or a stored
// model (a checkpoint, a Hugging Face folder, or a .safetensors file). With `verify`, reads all data and checks
// every recorded SHA-256. Throws ConfigError if `path` is neither a corpus nor a model, or is damaged.
void inspect(const std::filesystem::path& path, bool verify, std::ostream& out);

// Options of `trireme convert`, which converts between Hugging Face's safetensors and checkpoints.
struct ConvertConfig {
    std::string input;
    std::string output;                         // a folder
    std::optional<archive::StoredType> dtype;   // type of exported tensors; if unset, the original types
    std::uint64_t shard_bytes = 5'000'000'000;  // maximum size of an exported file, unless one tensor is larger
    bool quiet = false;                         // no summary
};

// Converts Hugging Face files to the checkpoint OUTPUT/step-0, or a checkpoint to Hugging Face files in OUTPUT.
// The files appear only when they are complete. Values keep their bits: importing a model and exporting it
// gives the same tensors, and if the model is a single file, the same file. A summary goes to `out`. Throws
// ConfigError if the input is not a model or the output folder is not empty, and ResourceError if memory or
// disk is short.
void convert(const ConvertConfig& config, std::ostream& out);

}  // namespace trireme::tools
