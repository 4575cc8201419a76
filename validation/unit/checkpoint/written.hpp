// Small checkpoints, written by one process or part by part as several ranks write them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trireme/checkpoint/state_view.hpp"
#include "trireme/checkpoint/write_checkpoint.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::validation {

// The state of a run of several ranks; this process holds all of it.
struct WholeState {
    std::vector<model::ParameterSpec> specs;
    std::vector<model::ParameterTensors> fields;  // the values, then each moment

    // All numbers differ: element e of parameter p in field f is (100000 f + 1000 p + e) / 7.
    WholeState(std::vector<model::ParameterSpec> parameters, std::size_t moments,
               device::DType dtype = device::DType::f32);

    std::vector<checkpoint::StateView> views() const;
};

std::vector<checkpoint::CheckpointTensor> tensors_of(const WholeState& whole, archive::StoredType source);

// Writes a checkpoint of the values only, as one part by one process. Returns its folder.
std::filesystem::path write_values(const std::filesystem::path& checkpoints, const model::ModelConfig& config,
                                   const WholeState& whole, std::uint64_t step,
                                   const std::string& tokenizer = "",
                                   archive::StoredType source = archive::StoredType::bf16,
                                   archive::ExistingFolder existing = archive::ExistingFolder::replace);

// Returns `updates` for each parameter.
checkpoint::UpdateCounts make_update_counts(const WholeState& whole, std::uint64_t updates);

// Cuts the rows of each parameter over `ranks` parts. If `columns` is set, also cuts the columns in halves.
checkpoint::CheckpointState shared_state(const model::ModelConfig& config, const WholeState& whole,
                                         std::uint64_t step, std::size_t ranks, bool columns = false);
checkpoint::ModelDescription description_of(const model::ModelConfig& config, const WholeState& whole);

// Writes all parts one after the other, then the rest of the checkpoint. Returns its folder.
std::filesystem::path write_shared(const std::filesystem::path& checkpoints, const model::ModelConfig& config,
                                   const WholeState& whole, const checkpoint::CheckpointState& state,
                                   const checkpoint::PhaseObserver& before = {});

}  // namespace trireme::validation
