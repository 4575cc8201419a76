// A checkpoint of a model whose parameters are all zero.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trireme/checkpoint/write_checkpoint.hpp"
#include "trireme/model/model.hpp"

namespace trireme::validation {

inline std::filesystem::path write_zero_model(const std::filesystem::path& checkpoints,
                                              const model::ModelConfig& model,
                                              const std::string& tokenizer = "", std::uint64_t step = 0) {
    std::vector<checkpoint::CheckpointTensor> tensors;
    for (const model::ParameterSpec& spec : unique_parameters(build_layers(model)))
        tensors.push_back(
            checkpoint::checkpoint_tensor(spec, archive::StoredType::f32, archive::StoredType::f32));
    const checkpoint::ModelDescription description{.config = config_text_of(model, tensors),
                                                   .tokenizer = tokenizer};
    std::vector<std::byte> zeros;
    const auto rows = [&](std::size_t tensor, layout::Range range) {
        zeros.resize(range.count * tensors[tensor].columns * sizeof(float));
        return std::span<const std::byte>(zeros);
    };
    checkpoint::CheckpointState state = state_of(description, tensors);
    state.step = step;
    return checkpoint::write_checkpoint(checkpoints, state, description, rows, archive::Existing::replaced);
}

}  // namespace trireme::validation
