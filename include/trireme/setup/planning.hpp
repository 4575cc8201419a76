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

// Returns one entry per layer of the model, in order: the facts from which layout::cut_layers() chooses the
// cuts between stages.
std::vector<layout::LayerFacts> list_layer_facts(const model::ModelConfig& model);

// True if the options ask for a grid of --pipe x --data x --tensor ranks. With a grid, --microbatches counts
// the micro-batches per replica. Without a grid, --microbatches counts the micro-batches of all replicas.
bool has_grid(const config::LayoutConfig& layout);

// If a run resumes with another number of ranks and no new layout option, sets --pipe, --data, --tensor and
// --microbatches in `config` for a grid of `ranks` ranks. The new --tensor is the greatest common divisor of
// the old --tensor and `ranks`. The new --pipe is the greatest common divisor of the old --pipe and `ranks` /
// --tensor. Without an old grid, --tensor and --pipe become 1. The number of micro-batches per step over all
// replicas stays the same, up to rounding. If the user sets --microbatches, that value is kept instead. Resets
// options with one value per stage if the number of stages changes. Does nothing with --partition pipedream.
void fit_resumed_layout(config::RunConfig& config, int ranks);

// Returns the number of ranks that the options ask for: the size of the grid, or 1 + the highest rank in the
// layout file. An unset --data counts as one replica. Throws ConfigError if the layout file cannot be read, if
// the grid has more than 2^20 ranks, or for --partition pipedream, which needs the number of ranks as input.
int count_requested_ranks(const config::RunConfig& config);

// Options from which a plan is made. Decisions of the policy may replace these options during training.
struct PlanRequest {
    std::string schedule = {};     // name of a schedule, or of a file with programs
    std::size_t microbatches = 1;  // per step; see is_per_replica
    bool is_per_replica = false;   // true: `microbatches` counts per replica of the grid; false: in total
    int frozen = 0;                // see plan::Plan
    bool may_exceed_memory =
        false;  // the plan may exceed the memory limit, because no step is executed with it
};
// Returns the request that `config` states.
PlanRequest make_plan_request(const config::RunConfig& config);

// Restrictions of schedule auto that reduce the memory of a plan: see the fields of the same names in PlanWish.
struct MemoryRestrictions {
    // Per team: maximum number of activation stashes, summed over its stages. Empty if unlimited.
    std::vector<int> max_activations = {};
    // Per stage: true if backward passes may be split. If empty, they may be split in all stages.
    std::vector<bool> may_split = {};
    bool may_speculate = true;  // speculative updates are allowed
};

// Makes the plan for a run with the options `config` on `ranks` ranks. Throws ConfigError if options, model and
// `ranks` do not fit together, for example for a grid with another number of ranks, more tensor ranks than
// heads, or a schedule that does not support the layout. Not collective.
plan::Plan plan_run(const config::RunConfig& config, const model::ModelConfig& model, int ranks,
                    const MemoryRestrictions& restrictions = {});

// Makes a plan for a layout that check_layout() has accepted. The schedule and the number of micro-batches come
// from `request`, all else from the options. Throws ConfigError as plan_run() does. Not collective.
plan::Plan plan_layout(const config::RunConfig& config, const model::ModelConfig& model, layout::Layout layout,
                       const PlanRequest& request, const MemoryRestrictions& restrictions = {});

// Returns the bubble of a step of `plan`: the fraction of the step in which a rank runs no kernel. The result
// is the mean over all `ranks` ranks of the job, including idle ranks. `step` has the predicted times of the
// step.
double compute_bubble(const plan::Plan& plan, const schedule::StepTime& step, int ranks);

// Returns the bubble that the schedule alone causes, as if all stages took equally long and messages took no
// time.
double predict_schedule_bubble(const plan::Plan& plan, int ranks);

// Returns the maximum number of weight versions, including the newest, that any team keeps of one of its stages
// at a time.
int find_max_weight_versions(const plan::Plan& plan);

// Throws ConfigError unless `schedule` is the name of a schedule or of a file. Any name with a dot or a slash
// counts as the name of a file, whether the file exists or not.
void check_schedule_name(const std::string& schedule);

// Returns the position of `rank` in the tensor group that holds its replica of `stage`, and the shares of all
// ranks of this group. Throws BugError if the rank does not hold the stage.
model::TensorPart find_tensor_part(const plan::Plan& plan, int stage, int rank);

// Returns every parameter tensor of the model with its slices on all ranks. These slices determine the gradient
// reductions.
std::vector<layout::HeldTensor> list_held_tensors(const plan::Plan& plan, const model::ModelConfig& model);

}  // namespace trireme::setup
