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

struct ExportPlan {
    std::filesystem::path folder;              // must be empty; the files appear only when all are complete
    std::optional<archive::StoredType> dtype;  // if unset, each tensor keeps its own type
    std::uint64_t shard_bytes = 0;             // maximum size of a file, unless one tensor is larger
};

struct ExportFacts {
    std::uint64_t bytes = 0;  // of all tensors
    std::size_t files = 0;    // number of .safetensors files
    std::string types;        // types of the tensors: "BF16, F32"
};

// Writes config.json, tokenizer.json and generation_config.json if the model has them, and either
// model.safetensors or several shards and their index file. `stored` must contain all parameters of `specs`.
// `progress` counts millions of parameters. Throws ConfigError or ResourceError.
ExportFacts export_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                         const ExportPlan& plan, Progress& progress);

}  // namespace trireme::tools
