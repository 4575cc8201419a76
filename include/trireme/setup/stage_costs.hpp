// Costs of stages from the options: --cost, otherwise --profile, otherwise equal costs.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::setup {

// True if costs come from --profile, i.e. --cost is not set.
bool are_measured(const config::CostConfig& costs);

// Returns the costs of --cost, or equal costs. Throws ConfigError if the numbers of costs and stages differ.
std::vector<schedule::StageCost> given_costs(const config::CostConfig& costs, std::size_t stages);

// Returns the costs of the plan's stages. Also throws ConfigError if the profile does not fit: see
// profiles_for().
std::vector<schedule::StageCost> costs_of(const config::RunConfig& config, const model::ModelConfig& model,
                                          const plan::Plan& plan);

// Makes a plan for schedule auto with these costs. Split backward passes may be slower than whole ones. With a
// profile it therefore makes a plan with and one without them, and returns the faster one.
plan::Plan searched_plan(const config::RunConfig& config, const model::ModelConfig& model, plan::PlanWish wish);

}  // namespace trireme::setup
