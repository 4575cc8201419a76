// A stored model as Hugging Face's save_pretrained() writes it.
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
    std::filesystem::path folder;              // holds nothing; what goes there appears when it is whole
    std::optional<archive::StoredType> dtype;  // none: each tensor's own
    std::uint64_t shard_bytes = 0;
};

struct ExportFacts {
    std::uint64_t bytes = 0;  // of the tensors
    std::size_t files = 0;
    std::string types;  // "BF16, F32"
};

// Writes config.json, tokenizer.json if there is one, and model.safetensors, or shards of it and their index.
// `stored` must hold all of `specs`. `progress` counts millions of parameters. Throws ConfigError and
// ResourceError.
ExportFacts export_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                         const ExportPlan& plan, Progress& progress);

}  // namespace trireme::tools
