// What stages cost, by the options: --cost, or else --profile, or else equally much.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme {

// Whether they go by the profile: what is said to cost wins over what was measured.
bool are_measured(const CostConfig& costs);

// What is said, or equal costs. Throws ConfigError for another number of costs than of stages.
std::vector<StageCost> given_costs(const CostConfig& costs, std::size_t stages);

// Of the plan's stages. Throws ConfigError likewise, and for a profile that does not fit: see profiles_for().
std::vector<StageCost> costs_of(const RunConfig& config, const ModelConfig& model, const Plan& plan);

// The plan of a wish for schedule auto, made for these costs. Halves of backwards may be dearer than whole
// ones: by a profile it is the shorter of a plan that may have them and one that may not.
Plan searched_plan(const RunConfig& config, const ModelConfig& model, PlanWish wish);

}  // namespace trireme
