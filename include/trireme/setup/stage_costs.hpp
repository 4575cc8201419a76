// What stages cost, by the options: --cost, or else --profile, or else equally much.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::setup {

// Whether they go by the profile: what is said to cost wins over what was measured.
bool are_measured(const config::CostConfig& costs);

// What is said, or equal costs. Throws ConfigError for another number of costs than of stages.
std::vector<schedule::StageCost> given_costs(const config::CostConfig& costs, std::size_t stages);

// Of the plan's stages. Throws ConfigError likewise, and for a profile that does not fit: see profiles_for().
std::vector<schedule::StageCost> costs_of(const config::RunConfig& config, const model::ModelConfig& model,
                                          const plan::Plan& plan);

// The plan of a wish for schedule auto, made for these costs. Halves of backwards may be dearer than whole
// ones: by a profile it is the shorter of a plan that may have them and one that may not.
plan::Plan searched_plan(const config::RunConfig& config, const model::ModelConfig& model, plan::PlanWish wish);

}  // namespace trireme::setup
