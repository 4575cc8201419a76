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
    for (const model::ParameterSpec& spec : list_unique_parameters(build_layers(model)))
        tensors.push_back(
            checkpoint::make_checkpoint_tensor(spec, archive::StoredType::f32, archive::StoredType::f32));
    const checkpoint::ModelDescription description{.config = make_config_text(model, tensors),
                                                   .tokenizer = tokenizer};
    std::vector<std::byte> zeros;
    const auto rows = [&](std::size_t tensor, layout::Range range) {
        zeros.resize(range.count * tensors[tensor].columns * sizeof(float));
        return std::span<const std::byte>(zeros);
    };
    checkpoint::CheckpointState state = make_checkpoint_state(description, tensors);
    state.step = step;
    return checkpoint::write_checkpoint(checkpoints, state, description, rows,
                                        archive::ExistingFolder::replace);
}

}  // namespace trireme::validation
