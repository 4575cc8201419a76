// Makes plans from options.
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

// Returns the facts about each layer that decide where to cut the model.
std::vector<layout::LayerFacts> layer_facts(const model::ModelConfig& model);

// True if the ranks form a grid. In a grid --microbatches counts per replica, otherwise in total.
bool has_grid(const config::LayoutConfig& layout);

// If a run resumes with another number of ranks and no layout option, chooses a grid for `ranks` ranks. It is
// as similar to the former grid as possible, and micro-batches keep their size.
void fit_resumed_layout(config::RunConfig& config, int ranks);

// Returns the number of ranks that the options ask for: those of the grid, or those that the layout file names.
// An unset --data counts as one replica. Throws ConfigError if the layout file cannot be read, or if the number
// of ranks must be known before the layout.
int ranks_for(const config::RunConfig& config);

// The options of a plan that a decision may replace.
struct PlanRequest {
    std::string schedule = {};
    std::size_t microbatches = 1;
    bool is_each = false;  // `microbatches` counts per replica of a grid, otherwise in total
};
PlanRequest plan_request(const config::RunConfig& config);  // from the options

// Restrictions of a plan due to memory: see PlanWish.
struct MemoryRoom {
    std::vector<int> most_activations = {};
    std::vector<bool> may_split = {};
    bool may_go_ahead = true;
};

// Makes the plan of the options. Throws ConfigError if options, model and `ranks` do not fit together, e.g. for
// a grid of another size, more tensor ranks than heads, or a schedule that does not support the layout.
// Communicates nothing.
plan::Plan plan_run(const config::RunConfig& config, const model::ModelConfig& model, int ranks,
                    const MemoryRoom& room = {});

// Makes the requested plan for a layout that check_layout() has accepted; all else comes from the options.
plan::Plan plan_layout(const config::RunConfig& config, const model::ModelConfig& model, layout::Layout layout,
                       const PlanRequest& request, const MemoryRoom& room = {});

// Returns the fraction of a step in which ranks are predicted to run no kernel: a mean over all ranks,
// including idle ones.
double bubble_of(const plan::Plan& plan, const schedule::StepTime& step, int ranks);

// The same for the schedule alone: all stages equally long, and messages free.
double bubble_of_schedule(const plan::Plan& plan, int ranks);

// Returns the maximum over stages of the number of weight versions kept at a time, including the newest.
int most_weight_versions(const plan::Plan& plan);

// Throws ConfigError unless `schedule` is the name of a schedule or contains a dot or a slash, i.e. names a
// file.
void check_schedule_name(const std::string& schedule);

// Returns the rank's position and the shares in the team that holds a stage.
model::TensorPart part_of_rank(const plan::Plan& plan, int stage, int rank);

// Returns every tensor with its holders, which determine the gradient reductions.
std::vector<layout::HeldTensor> held_tensors(const plan::Plan& plan, const model::ModelConfig& model);

}  // namespace trireme::setup
