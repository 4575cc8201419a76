// A stage on one rank, alone or with the other ranks of a team, and one micro-batch that passes it.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/stage/predict.hpp"
#include "unit/stage/masked_weights.hpp"
#include "unit/stage/stage_numbers.hpp"
#include "unit/stage/token_rows.hpp"

namespace trireme::validation {

// What is computed, by whomever.
struct StageTask {
    const model::ModelConfig& config;
    layout::Range layers;
    const stage::TokenRows& rows;
    device::DType dtype = device::DType::f64;
    bool is_training = true;
    plan::Recompute recompute = plan::Recompute::none;
    stage::BackwardHalves halves = stage::BackwardHalves::together;
    stage::Masks masks = {};  // of who runs it alone: weights that are zero, and whose gradients count as zero
};

// Who computes it.
struct Sharing {
    comm::Communicator& ranks;
    std::vector<std::size_t> shares;
    bool cuts_rows = false;
    model::Resizing::Lists lists = {};  // of the channels that this rank keeps in training
    std::vector<layout::Migration> migrations = {};
    layout::Spread spread = layout::Spread::tree;
};

// What came of it on this rank.
struct StageRun {
    layout::Range own;               // rows of the micro-batch
    std::vector<double> output;      // (own rows, width); none of the last stage
    std::vector<double> grad_input;  // (own rows, width); none of the first stage or without training
    stage::NamedNumbers gradients;   // of whole tensors, with zeros where the rank has no part of them
    model::LossState outcome;        // of the last stage
};

// Weights, inputs and output gradients are functions of their names and places, and so is dropout. The arenas
// are as large as predicted. A rank alone recomputes nothing and computes both halves of backward together.
StageRun run_alone(device::Stream& stream, const StageTask& task);
// Collective over the team.
StageRun run_in_team(device::Stream& stream, const StageTask& task, const Sharing& sharing);

}  // namespace trireme::validation
