// Plans that keep to --memory-limit.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

// What a plan is for, as far as memory depends on it.
struct PlannedRun {
    const config::RunConfig& config;
    const model::ModelConfig& model;
    PlanRequest request;
    int ranks = 1;
    device::DType dtype = device::DType::f32;
    const std::vector<stage::BatchShape>& largest;  // micro-batches
    bool trains = true;                             // otherwise it only evaluates
};

// `plan`, made for the request, where no rank needs more by it than the limit, or where there is none. If the
// schedule is auto, and more is needed, the shortest other plan that is found: teams may keep fewer activations
// in it, and leave backwards whole, which takes less for each. Throws ConfigError where nothing fits, with the
// numbers.
plan::Plan within_memory_limit(plan::Plan plan, const PlannedRun& run);

}  // namespace trireme::setup
