// Exports a stored model in the format of Hugging Face's save_pretrained().
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trireme/base/progress.hpp"
#include "trireme/checkpoint/stored_model.hpp"

namespace trireme::tools {

struct ExportOptions {
    std::filesystem::path folder;              // empty or missing; gets the files when all files are complete
    std::optional<archive::StoredType> dtype;  // type of all tensors; if unset, each keeps its original type
    std::uint64_t shard_bytes = 0;             // maximum bytes of tensors per file
};

struct ExportFacts {
    std::uint64_t bytes = 0;  // bytes of all tensors
    std::size_t files = 0;    // number of .safetensors files
    std::string types;        // distinct types of the tensors, for example "BF16, F32"
};

// Writes the parameters `specs` to model.safetensors, or to several shards and their index file. `stored` must
// contain all of `specs`. A tensor of more than plan.shard_bytes gets a shard of its own. Also writes
// config.json and, if the model has them, tokenizer.json and generation_config.json. `progress` counts millions
// of parameters. Throws ConfigError if the folder is not empty or cannot be written, and ResourceError if
// writing fails, for example because the disk is full.
ExportFacts export_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                         const ExportOptions& plan, Progress& progress);

}  // namespace trireme::tools
