// Checkpoints of a few numbers, written by one or by several.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trireme/checkpoint/state_view.hpp"
#include "trireme/checkpoint/write_checkpoint.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::validation {

// What a run of several ranks has, all of it in this process.
struct WholeState {
    std::vector<ParameterSpec> specs;
    std::vector<ParameterTensors> fields;  // values, and as many moments as there are

    // Every number another one: field f of parameter p from 1000 p + 100000 f on, by sevenths.
    WholeState(std::vector<ParameterSpec> parameters, std::size_t moments, DType dtype = DType::f32);

    std::vector<StateView> views() const;
};

std::vector<CheckpointTensor> tensors_of(const WholeState& whole, StoredType source);

// Values as one part, by one process.
std::filesystem::path write_values(const std::filesystem::path& checkpoints, const ModelConfig& config,
                                   const WholeState& whole, std::uint64_t step,
                                   const std::string& tokenizer = "", StoredType source = StoredType::bf16,
                                   Existing existing = Existing::replaced);

// The rows of each parameter spread over `ranks` parts; where `columns` is set also its columns, halved.
CheckpointState shared_state(const ModelConfig& config, const WholeState& whole, std::uint64_t step,
                             std::size_t ranks, bool columns = false);
ModelDescription description_of(const ModelConfig& config, const WholeState& whole);

// All parts one after the other, and the rest.
std::filesystem::path write_shared(const std::filesystem::path& checkpoints, const ModelConfig& config,
                                   const WholeState& whole, const CheckpointState& state,
                                   const BeforeStage& before = {});

}  // namespace trireme::validation
