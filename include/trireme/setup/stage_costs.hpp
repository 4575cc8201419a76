// Costs of stages from the options: --cost, otherwise --profile, otherwise equal costs.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::setup {

// True if costs come from --profile: --profile is set, and --cost is not set.
bool uses_profile(const config::CostConfig& costs);

// Returns one cost per stage, from --cost. A single cost is repeated for all stages. If --cost is not set, all
// stages have equal costs. Throws ConfigError if --cost has several costs, but not one per stage.
std::vector<schedule::StageCost> expand_cost_option(const config::CostConfig& costs, std::size_t stages);

// Returns one cost per stage of the plan: from --profile if uses_profile() is true, otherwise from
// expand_cost_option(). Throws ConfigError for the reasons of read_fitting_profiles() or expand_cost_option().
std::vector<schedule::StageCost> compute_costs(const config::RunConfig& config, const model::ModelConfig& model,
                                               const plan::Plan& plan);

// Makes the plan of `wish` with the costs of compute_costs(). The schedule of `wish` must be auto. The two
// halves of a split backward pass may take longer than a whole backward pass, and a profile has the seconds of
// halves and of whole passes. With a profile, the function therefore makes one plan with split backward passes
// and one without, and returns the faster plan.
plan::Plan search_plan(const config::RunConfig& config, const model::ModelConfig& model, plan::PlanWish wish);

}  // namespace trireme::setup
