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
    std::vector<model::ParameterSpec> specs;
    std::vector<model::ParameterTensors> fields;  // values, and as many moments as there are

    // Every number another one: field f of parameter p from 1000 p + 100000 f on, by sevenths.
    WholeState(std::vector<model::ParameterSpec> parameters, std::size_t moments,
               device::DType dtype = device::DType::f32);

    std::vector<checkpoint::StateView> views() const;
};

std::vector<checkpoint::CheckpointTensor> tensors_of(const WholeState& whole, archive::StoredType source);

// Values as one part, by one process.
std::filesystem::path write_values(const std::filesystem::path& checkpoints, const model::ModelConfig& config,
                                   const WholeState& whole, std::uint64_t step,
                                   const std::string& tokenizer = "",
                                   archive::StoredType source = archive::StoredType::bf16,
                                   archive::Existing existing = archive::Existing::replaced);

// The rows of each parameter spread over `ranks` parts; where `columns` is set also its columns, halved.
checkpoint::CheckpointState shared_state(const model::ModelConfig& config, const WholeState& whole,
                                         std::uint64_t step, std::size_t ranks, bool columns = false);
checkpoint::ModelDescription description_of(const model::ModelConfig& config, const WholeState& whole);

// All parts one after the other, and the rest.
std::filesystem::path write_shared(const std::filesystem::path& checkpoints, const model::ModelConfig& config,
                                   const WholeState& whole, const checkpoint::CheckpointState& state,
                                   const checkpoint::BeforeStage& before = {});

}  // namespace trireme::validation
