// Plans that respect --memory-limit.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

// The properties of a run that determine the memory of its plans.
struct PlannedRun {
    const config::RunConfig& config;
    const model::ModelConfig& model;
    PlanRequest request;
    int ranks = 1;
    device::DType dtype = device::DType::f32;
    const std::vector<stage::BatchShape>& largest_microbatches;  // shapes of a step and of an evaluation
    bool trains = true;                                          // false if the run only evaluates
};

// Returns `plan`, which was made for `run.request`, if no rank needs more memory than --memory-limit or if
// there is no limit. Otherwise, with schedule auto, searches plans that need less memory, because their teams
// keep fewer micro-batches in flight, do not split backward passes or do not update speculatively, and returns
// the fastest of these plans. Throws ConfigError with the needed and the allowed bytes if no plan fits.
plan::Plan fit_to_memory_limit(plan::Plan plan, const PlannedRun& run);

}  // namespace trireme::setup
