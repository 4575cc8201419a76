// The costs of a forecast. They come from the first of these options that is set: --cost, --cluster, --profile.
// If none of them is set, all stages have equal costs.
#pragma once

#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/stage_work.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/setup/clocks.hpp"
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
    device::MemorySpace memory_space = device::MemorySpace::host;
    std::vector<std::size_t> device_memory = {};       // per rank: bytes; empty without --cluster
    std::optional<plan::ClockCosts> clock_costs = {};  // those of the file that --clock-costs names, if any
    // The steps and changes of plan, if the layout follows the lengths of samples. `steps` and `fits` then have
    // the first step only.
    std::vector<StepForecast> followed_steps = {};
    std::optional<std::vector<plan::Decision>> decisions = {};
    std::size_t first_stages = 0;  // number of stages before the first change
    std::string assumption;        // see Forecast
};

// Reads the file that --clock-costs names into `inputs`. Returns the clocks of the devices: those of `devices`
// if set, otherwise those of the file. `devices` must outlive the result. Throws ConfigError if --clock-costs
// is `sweep`, because a forecast measures nothing, or for the reasons of setup::match_replicas().
setup::RankClocks find_device_clocks(const config::RunConfig& run, int ranks,
                                     const std::optional<setup::SimulatedDevices>& devices,
                                     ForecastInputs& inputs);

// Sets the members `costs`, `unit`, `cost_source`, `counted_costs` and `steps` of the forecast, the last one
// from `inputs.followed_steps` if the layout follows the lengths of samples, and also `baseline_step` and
// `reconfigure_steps`. Sets the order and the clocks of the plan in `inputs` as --energy and --reconfigure
// request. Returns the costs of the first step, at each clock if clocks are known. Throws
// the errors of check_clocks().
schedule::StepCosts add_costs(const config::RunConfig& run, int ranks, const setup::RankClocks& find_clocks,
                              ForecastInputs& inputs, Forecast& forecast);

}  // namespace trireme::tools
