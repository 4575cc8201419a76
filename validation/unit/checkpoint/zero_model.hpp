// A checkpoint of a model whose parameters are all zero.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trireme/checkpoint/write_checkpoint.hpp"
#include "trireme/model/model.hpp"

namespace trireme::validation {

inline std::filesystem::path write_zero_model(const std::filesystem::path& checkpoints,
                                              const ModelConfig& model, const std::string& tokenizer = "",
                                              std::uint64_t step = 0) {
    std::vector<CheckpointTensor> tensors;
    for (const ParameterSpec& spec : unique_parameters(build_layers(model)))
        tensors.push_back(checkpoint_tensor(spec, StoredType::f32, StoredType::f32));
    const ModelDescription description{.config = config_text_of(model, tensors), .tokenizer = tokenizer};
    std::vector<std::byte> zeros;
    const auto rows = [&](std::size_t tensor, Range range) {
        zeros.resize(range.count * tensors[tensor].columns * sizeof(float));
        return std::span<const std::byte>(zeros);
    };
    CheckpointState state = state_of(description, tensors);
    state.step = step;
    return write_checkpoint(checkpoints, state, description, rows, Existing::replaced);
}

}  // namespace trireme::validation
