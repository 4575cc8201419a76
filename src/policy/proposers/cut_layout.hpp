// Layouts with the stages of a cut.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/proposers/cut_stages.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/policy/length.hpp"

namespace trireme::policy {

// A replica by the indices of its stage and in its stage.
struct ReplicaPosition {
    std::size_t stage = 0;
    std::size_t replica = 0;
};

// Returns the replicas of a cut, so that the replicas of a stage are consecutive.
std::vector<ReplicaPosition> order_by_stage(const StageCut& cut);

// Returns the replicas of a cut, so that the stages of a pipeline are consecutive. See make_length_proposer().
std::vector<ReplicaPosition> order_by_pipeline(const StageCut& cut);

// Gives the replicas of a cut to the teams, in the given order.
layout::Layout make_cut_layout(const LengthRules& rules, const StageCut& cut,
                               const std::vector<ReplicaPosition>& order);

// Returns the slowness of the slowest rank per team.
std::vector<double> list_team_slowness(const LengthRules& rules, const plan::Observation& observed);

}  // namespace trireme::policy
