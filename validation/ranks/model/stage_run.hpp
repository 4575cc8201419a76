// Runs one micro-batch through a stage, on one rank or on the ranks of a team.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/stage/predict.hpp"
#include "unit/stage/masked_weights.hpp"
#include "unit/stage/stage_numbers.hpp"
#include "unit/stage/token_rows.hpp"

namespace trireme::validation {

// The computation, independent of the ranks that run it.
struct StageTask {
    const model::ModelConfig& config;
    layout::Range layers;
    const stage::TokenRows& rows;
    device::DType dtype = device::DType::f64;
    bool is_training = true;
    plan::Recompute recompute = plan::Recompute::none;
    stage::BackwardHalves halves = stage::BackwardHalves::together;
    stage::Masks masks = {};  // weights that run_on_one_rank() sets to zero, with zero gradients
};

// The team that computes it.
struct Sharing {
    comm::Communicator& ranks;
    std::vector<std::size_t> shares;
    bool cuts_rows = false;
    model::Resizing::ChannelLists lists = {};  // channels that this rank keeps in training
    std::vector<layout::Migration> migrations = {};
    layout::Spread spread = layout::Spread::tree;
};

// The results on this rank.
struct StageRun {
    layout::Range own;               // rows of the micro-batch
    std::vector<double> output;      // (own rows, width); empty for the last stage
    std::vector<double> grad_input;  // (own rows, width); empty for the first stage or without training
    stage::NamedNumbers gradients;   // of whole tensors; zero where the rank holds no element
    model::LossState outcome;        // of the last stage
};

// Weights, inputs, output gradients and dropout are functions of tensor names and positions, so that all runs
// agree. The arenas have the predicted capacities. run_on_one_rank() recomputes nothing and does not split the
// backward pass.
StageRun run_on_one_rank(device::Stream& stream, const StageTask& task);
// Collective over the team.
StageRun run_in_team(device::Stream& stream, const StageTask& task, const Sharing& sharing);

}  // namespace trireme::validation
