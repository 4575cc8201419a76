// From what layers were measured to cost to what stages will.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/partition.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::plan {

// Seconds of each stage, for profiles of the plan's model. A backward pass that is done in halves costs what
// these were measured to cost; full recompute adds the forward pass. Ranks that share a replica's tensors are
// taken to share the work without loss, in proportion, and of all ranks of a stage the one counts that takes
// longest for its share. Messages and sums over replicas go over the slowest of their links. The update is each
// replica's part of it where they share the optimizer's state.
std::vector<schedule::StageCost> measured_costs(const RankProfiles& profiles, const Plan& plan);

// Likewise of a plan whose programs are still to be made: with backwards in halves where `in_halves`, per
// stage, says so.
std::vector<schedule::StageCost> measured_costs(const RankProfiles& profiles, const Plan& plan,
                                                const std::vector<bool>& in_halves);

// What is kept of parameters beside their values and gradients, and by how many.
struct ParameterCare {
    std::size_t numbers = 2;   // that the optimizer keeps of each
    std::size_t updaters = 1;  // replicas that share moments and update
    std::size_t sharers = 1;   // ranks that share a replica's tensors evenly
};

// As balanced_cuts() and share_layers() take them: of one rank. What a micro-batch leaves is taken to be on
// every sharer as a whole.
std::vector<layout::LayerLoad> layer_loads(const Profile& profile, const ParameterCare& care);

}  // namespace trireme::plan
