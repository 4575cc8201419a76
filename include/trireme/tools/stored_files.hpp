// `trireme inspect` and `trireme convert`: describe files, and convert stored models to another format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "trireme/archive/safetensors.hpp"

namespace trireme::tools {

// Prints a description of a corpus (its origin, its tokenizer, the lengths and classes of its rows, and one
// row) or of a stored model (a checkpoint, a Hugging Face folder, or a .safetensors file). If `verify` is true,
// reads all data and checks every recorded SHA-256. Throws ConfigError if `path` is neither a corpus nor a
// model, or is damaged.
void inspect(const std::filesystem::path& path, bool verify, std::ostream& out);

// Options of `trireme convert`, which converts between Hugging Face's safetensors and checkpoints.
struct ConvertConfig {
    std::string input;                          // path of a stored model: see StoredModel::open()
    std::string output;                         // path of a folder, which is empty or missing
    std::optional<archive::StoredType> dtype;   // of exported tensors; if unset, their original types
    std::uint64_t shard_bytes = 5'000'000'000;  // maximum bytes of tensors per exported file
    bool quiet = false;                         // if true, neither summary nor progress is shown
};

// Converts Hugging Face files to the checkpoint OUTPUT/step-0, or a checkpoint to Hugging Face files in OUTPUT.
// The files appear only when they are complete. A tensor that exceeds `shard_bytes` gets a file of its own.
// Values keep their bits: if a model is imported and then exported with its original types, the exported
// tensors equal the imported ones. If the imported model is a single file without unused tensors, the exported
// file equals the imported file, too. Prints a summary to `out`. Throws ConfigError if the input is not a
// model, if the output folder is not empty, or if `dtype` is set for an import. Throws ResourceError if memory
// or disk space is insufficient.
void convert(const ConvertConfig& config, std::ostream& out);

}  // namespace trireme::tools
