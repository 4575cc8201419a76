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
    const std::vector<stage::BatchShape>& largest;  // micro-batches
    bool trains = true;                             // false if the run only evaluates
};

// Returns `plan`, which was made for the request, if no rank needs more memory than --memory-limit or if there
// is no limit. Otherwise, with schedule auto, returns the fastest other plan found: teams may keep fewer
// activations, and may use whole backward passes, which keep less memory each. Throws ConfigError with the
// numbers if nothing fits.
plan::Plan within_memory_limit(plan::Plan plan, const PlannedRun& run);

}  // namespace trireme::setup
