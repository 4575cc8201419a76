// Layouts with the stages of a cut.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/proposers/cut_stages.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/policy/length.hpp"

namespace trireme::policy {

// Return the team of each replica of a cut, those of the first stage first. The teams of a stage are
// consecutive.
std::vector<std::size_t> order_by_stage(const StageCut& cut);
// The teams of a pipeline are consecutive. See make_length_proposer().
std::vector<std::size_t> order_by_pipeline(const StageCut& cut);

// Returns the layout in which the replicas of a cut have these teams. It has no idle ranks.
layout::Layout make_cut_layout(const LengthRules& rules, const StageCut& cut,
                               const std::vector<std::size_t>& teams);

// Returns the slowness of the slowest rank per team.
std::vector<double> list_team_slowness(const LengthRules& rules, const plan::Observation& observed);

}  // namespace trireme::policy
