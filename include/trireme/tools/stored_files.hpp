// `trireme inspect` and `trireme convert`: what a file is, and stored models in another form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "trireme/archive/safetensors.hpp"

namespace trireme::tools {

// Describes a corpus: where it came from, its tokenizer, the lengths and classes of its rows, and one of them.
// Describes a stored model: a checkpoint, a folder of Hugging Face's, or a .safetensors file. With `verify`,
// reads all of it and compares every SHA-256. Throws ConfigError for a file that is neither, or a damaged one.
void inspect(const std::filesystem::path& path, bool verify, std::ostream& out);

// `trireme convert`: between Hugging Face's safetensors and checkpoints.
struct ConvertConfig {
    std::string input;
    std::string output;  // a folder
    std::optional<archive::StoredType>
        dtype;  // of the export's weights; none: the types that they once came in
    std::uint64_t shard_bytes = 5'000'000'000;  // most in a file of the export, but for a larger tensor alone
    bool quiet = false;                         // no summary
};

// Hugging Face's files become the checkpoint OUTPUT/step-0, a checkpoint the files of OUTPUT, which appear when
// they are whole. Bits are kept: there and back gives the same tensors, and of a single file the same file. A
// summary goes to `out`. Throws ConfigError where the input is no model or the output holds anything,
// ResourceError where the machine refuses.
void convert(const ConvertConfig& config, std::ostream& out);

}  // namespace trireme::tools
