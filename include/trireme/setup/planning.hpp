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
std::vector<layout::LayerFacts> list_layer_facts(const model::ModelConfig& model);

// True if the options ask for a grid of --pipe x --data x --tensor ranks. --microbatches then counts per
// replica of the grid, otherwise over all replicas.
bool has_grid(const config::LayoutConfig& layout);

// If a run resumes with another number of ranks and no layout option, sets --pipe, --data, --tensor and
// --microbatches in `config` for `ranks` ranks. The grid is as similar to the former one as possible, and the
// number of samples per micro-batch stays the same.
void fit_resumed_layout(config::RunConfig& config, int ranks);

// Returns the number of ranks that the options ask for: those of the grid, or those that the layout file names.
// An unset --data counts as one replica. Throws ConfigError if the layout file cannot be read, if the grid has
// more than 2^20 ranks, or for --partition pipedream, which needs the number of ranks.
int count_requested_ranks(const config::RunConfig& config);

// The options of a plan that a decision of the policy may replace during training.
struct PlanRequest {
    std::string schedule = {};
    std::size_t microbatches = 1;
    bool is_per_replica = false;  // `microbatches` counts per replica of a grid, otherwise in total
};
PlanRequest make_plan_request(const config::RunConfig& config);  // from the options

// Restrictions of a plan due to memory: see the fields of the same names in PlanWish.
struct MemoryRestrictions {
    std::vector<int> max_activations = {};  // per team: stashes of all its stages; empty if unlimited
    std::vector<bool> may_split = {};       // per stage: backward passes may be split; if empty, in all stages
    bool may_speculate = true;              // speculative updates are allowed
};

// Makes the plan of the options. Throws ConfigError if options, model and `ranks` do not fit together, e.g. for
// a grid of another size, more tensor ranks than heads, or a schedule that does not support the layout.
// Communicates nothing.
plan::Plan plan_run(const config::RunConfig& config, const model::ModelConfig& model, int ranks,
                    const MemoryRestrictions& restrictions = {});

// Makes a plan with the schedule and micro-batches of `request`, for a layout that check_layout() has accepted.
// All else comes from the options.
plan::Plan plan_layout(const config::RunConfig& config, const model::ModelConfig& model, layout::Layout layout,
                       const PlanRequest& request, const MemoryRestrictions& restrictions = {});

// Returns the fraction of a step in which a rank is predicted to run no kernel, as the mean over all `ranks`
// ranks including idle ones. `step` is the predicted step.
double compute_bubble(const plan::Plan& plan, const schedule::StepTime& step, int ranks);

// Returns the bubble of the schedule alone, as if all stages took equally long and messages took no time.
double predict_schedule_bubble(const plan::Plan& plan, int ranks);

// Returns the maximum over stages of the number of weight versions kept at a time, including the newest.
int max_weight_versions(const plan::Plan& plan);

// Throws ConfigError unless `schedule` is the name of a schedule, or of a file: file names contain a dot or a
// slash.
void check_schedule_name(const std::string& schedule);

// Returns the rank's position in the tensor group of its replica of `stage`, and the shares of that group.
model::TensorPart find_tensor_part(const plan::Plan& plan, int stage, int rank);

// Returns every tensor with its holders, which determine the gradient reductions.
std::vector<layout::HeldTensor> list_held_tensors(const plan::Plan& plan, const model::ModelConfig& model);

}  // namespace trireme::setup
