// Export of a stored model in the form that Hugging Face's save_pretrained() writes.
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
    std::filesystem::path folder;              // must be empty; the files appear once they are complete
    std::optional<archive::StoredType> dtype;  // if unset, each tensor keeps its own type
    std::uint64_t shard_bytes = 0;
};

struct ExportFacts {
    std::uint64_t bytes = 0;  // of all tensors
    std::size_t files = 0;
    std::string types;  // "BF16, F32"
};

// Writes config.json, tokenizer.json if there is one, and model.safetensors, or its shards and their
// index. `stored` must hold all of `specs`. `progress` counts millions of parameters. Throws
// ConfigError or ResourceError.
ExportFacts export_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                         const ExportPlan& plan, Progress& progress);

}  // namespace trireme::tools
