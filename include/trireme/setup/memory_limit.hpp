// Plans that respect the memory limits of ranks.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

// The properties of a run that determine which plans the run can have and how much memory these plans need. The
// referenced objects must outlive this struct.
struct PlannedRun {
    const config::RunConfig& config;
    const model::ModelConfig& model;
    PlanRequest request;
    int ranks = 1;  // of the job, including idle ranks
    device::DType dtype = device::DType::f32;
    const std::vector<stage::BatchShape>& largest_microbatches;  // see PlanState::largest_microbatches
    bool trains = true;                                          // false if the run only evaluates
    std::vector<StepLevel> step_levels = {};                     // see PlanState
    // Per rank: the limit if --memory-limit is unset; empty if the memory is then unlimited.
    std::vector<std::size_t> device_memory = {};
};

// Returns `plan`, which was made for `run.request`, if no rank needs more memory than --memory-limit or if
// there is no limit. Otherwise, with schedule auto, tries plans of the same layout that need less memory:
// - First, a plan without speculative updates. It is returned if it fits.
// - Then, plans without speculative updates whose teams keep fewer micro-batches in flight. Backward passes may
//   be split in all, some or no stages. The fastest plan that fits is returned.
// Throws ConfigError with the needed and the allowed bytes if no plan fits.
plan::Plan fit_to_memory_limit(plan::Plan plan, const PlannedRun& run);
// Returns the plan that fit_to_memory_limit() returns, or nothing if no plan fits.
std::optional<plan::Plan> find_plan_within_limit(plan::Plan plan, const PlannedRun& run);

// Makes a plan whose teams keep at most `max_activations` micro-batches in flight, summed over the stages of a
// team, if the plan can run with so few. The numbers are unlimited if `max_activations` is empty.
using BoundedPlan = std::function<plan::Plan(const std::vector<int>& max_activations)>;
// Returns a plan of `make_plan` within the limits: the unlimited one, or else one whose teams that exceed their
// limit keep fewer micro-batches in flight. If none is within the limits, returns the one with the fewest.
plan::Plan keep_fewer_activations(const PlannedRun& run, const BoundedPlan& make_plan);

}  // namespace trireme::setup
