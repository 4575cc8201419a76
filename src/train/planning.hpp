// From options to a plan.
#pragma once

#include <vector>

#include "trireme/layout/partition.hpp"
#include "trireme/layout/pieces.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/tensor_part.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

// What is known of each layer of a model when it is cut into stages.
std::vector<LayerFacts> layer_facts(const ModelConfig& model);

// How many ranks the options are for: those of the grid, without --data of one replica, or those that the
// layout file names. Throws ConfigError for a layout file that cannot be read.
int ranks_for(const RunConfig& config);

// Throws ConfigError where options, model and `ranks` do not fit: a grid of another size, more tensor ranks
// than heads, a schedule that is not made for the layout, and so on. Communicates nothing.
Plan plan_run(const RunConfig& config, const ModelConfig& model, int ranks);

// The part of a step that ranks stand still, as predicted: a mean over all ranks, idle ones included.
double bubble_of(const Plan& plan, const Prediction& prediction, int ranks);

// Because of the schedule alone: were all stages equally long and messages free.
double bubble_of_schedule(const Plan& plan, int ranks);

// The share of a tensor rank in the team that holds a stage, and what it keeps of it.
TensorPart part_of_rank(const Plan& plan, int stage, int rank);

// Every tensor and who holds what of it: what gradients are summed by.
std::vector<HeldTensor> held_tensors(const Plan& plan, const ModelConfig& model);

}  // namespace trireme
