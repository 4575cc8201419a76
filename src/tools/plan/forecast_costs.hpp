// The costs of a forecast. They come from the first of these options that is set: --cost, --cluster, --profile.
// If none of them is set, all stages have equal costs.
#pragma once

#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/stage_work.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/stage/predict.hpp"
#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

// The inputs of a forecast.
struct ForecastInputs {
    model::ModelConfig model;
    plan::Plan plan;
    device::DType dtype = device::DType::f32;
    // The largest micro-batch of a training step. With a corpus, also the largest one of an evaluation.
    std::vector<stage::BatchShape> largest_microbatches;
    // Per step, from the first step on: the micro-batches of the step. Only one step without a corpus.
    std::vector<std::vector<plan::MicrobatchShape>> steps;
    std::vector<setup::StepFit> fits = {};           // per step: see setup::PlannedStep; empty without a corpus
    std::vector<setup::StepLimit> step_limits = {};  // see setup::PlanState
    std::vector<setup::StepLevel> step_levels = {};  // see setup::PlanState
    std::string assumption;                          // see Forecast
};

// Sets the members `costs`, `unit`, `cost_source`, `counted_costs` and `steps` of the forecast. Returns the
// costs of the first step. `cluster` is the path of a cluster file; if empty, costs do not come from a cluster.
schedule::StepCosts add_costs(config::RunConfig run, const std::string& cluster, int ranks,
                              const ForecastInputs& inputs, Forecast& forecast);

}  // namespace trireme::tools
