// Costs of stages from the options: --cost, otherwise --profile, otherwise equal costs.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::setup {

// True if costs come from --profile: it is set, and --cost is not.
bool uses_profile(const config::CostConfig& costs);

// Returns one cost per stage: those of --cost, where one cost serves all stages, or equal ones if --cost is not
// set. Throws ConfigError if --cost has several costs, but not one per stage.
std::vector<schedule::StageCost> expand_cost_option(const config::CostConfig& costs, std::size_t stages);

// Returns one cost per stage of the plan, from --profile or --cost: see uses_profile(). Throws ConfigError for
// the reasons of read_fitting_profiles() or expand_cost_option().
std::vector<schedule::StageCost> compute_costs(const config::RunConfig& config, const model::ModelConfig& model,
                                               const plan::Plan& plan);

// Makes the plan of `wish`, whose schedule is auto, with the costs of compute_costs(). The two halves of a
// split backward pass may take longer than the whole pass. With a profile, which measures both, the function
// therefore makes one plan with split backward passes and one without, and returns the faster one.
plan::Plan search_plan(const config::RunConfig& config, const model::ModelConfig& model, plan::PlanWish wish);

}  // namespace trireme::setup
