// From options to a plan.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/layout/partition.hpp"
#include "trireme/layout/pieces.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/tensor_part.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::setup {

// What is known of each layer of a model when it is cut into stages.
std::vector<layout::LayerFacts> layer_facts(const model::ModelConfig& model);

// Whether the ranks form a grid, each of whose replicas has --microbatches of its own; elsewhere they count in
// all.
bool has_grid(const config::LayoutConfig& layout);

// Chooses a grid for `ranks` ranks if the saved run had another number of them and no layout is given: as like
// the former one as the ranks allow, with micro-batches of the former size.
void fit_resumed_layout(config::RunConfig& config, int ranks);

// How many ranks the options are for: those of the grid, without --data of one replica, or those that the
// layout file names. Throws ConfigError for a layout file that cannot be read, and where the ranks decide on
// the layout.
int ranks_for(const config::RunConfig& config);

// The options of a plan that a decision may replace.
struct PlanRequest {
    std::string schedule = {};
    std::size_t microbatches = 1;
    bool is_each = false;  // every replica of a grid has that many; otherwise all replicas together
};
PlanRequest plan_request(const config::RunConfig& config);  // that of the options

// What memory leaves to a plan: see PlanWish.
struct MemoryRoom {
    std::vector<int> most_activations = {};
    std::vector<bool> may_split = {};
    bool may_go_ahead = true;
};

// Throws ConfigError where options, model and `ranks` do not fit: a grid of another size, more tensor ranks
// than heads, a schedule that is not made for the layout, and so on. Communicates nothing.
plan::Plan plan_run(const config::RunConfig& config, const model::ModelConfig& model, int ranks,
                    const MemoryRoom& room = {});

// Makes the requested plan of a layout that check_layout() has accepted; the options give the rest.
plan::Plan plan_layout(const config::RunConfig& config, const model::ModelConfig& model, layout::Layout layout,
                       const PlanRequest& request, const MemoryRoom& room = {});

// The part of a step that ranks stand still, as predicted: a mean over all ranks, idle ones included.
double bubble_of(const plan::Plan& plan, const schedule::StepTime& step, int ranks);

// Because of the schedule alone: were all stages equally long and messages free.
double bubble_of_schedule(const plan::Plan& plan, int ranks);

// Copies of its weights that a stage keeps at once, the newest among them; of the stage that keeps most.
int most_weight_versions(const plan::Plan& plan);

// Throws ConfigError for what is neither the name of a schedule nor, with a dot or a slash in it, that of a
// file.
void check_schedule_name(const std::string& schedule);

// The share of a tensor rank in the team that holds a stage, and what it keeps of it.
model::TensorPart part_of_rank(const plan::Plan& plan, int stage, int rank);

// Every tensor and who holds what of it: what gradients are summed by.
std::vector<layout::HeldTensor> held_tensors(const plan::Plan& plan, const model::ModelConfig& model);

}  // namespace trireme::setup
