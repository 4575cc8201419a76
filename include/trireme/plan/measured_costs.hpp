// Computes the costs of stages from the measured costs of layers.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/partition.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::plan {

// Returns the costs of each stage in seconds, for profiles of the plan's model. A backward pass in halves costs
// what the halves were measured to cost; full recompute adds the forward pass. Ranks that share a replica's
// tensors are assumed to share the work without loss, in proportion to their shares. The cost of a stage is
// that of the rank that takes longest for its share. Messages and all-reduces over replicas use the slowest of
// their links. If replicas shard the optimizer state, the update is divided by their number.
std::vector<schedule::StageCost> measured_costs(const RankProfiles& profiles, const Plan& plan);

// The same for a plan without programs. `in_halves` has one entry per stage: true if its backwards are in
// halves.
std::vector<schedule::StageCost> measured_costs(const RankProfiles& profiles, const Plan& plan,
                                                const std::vector<bool>& in_halves);

// Counts that determine the memory of the optimizer state and the time of updates.
struct ParameterCare {
    std::size_t numbers = 2;   // optimizer state values per parameter
    std::size_t updaters = 1;  // replicas that shard optimizer state and update
    std::size_t sharers = 1;   // ranks that share a replica's tensors evenly
};

// Returns the load of each layer on one rank, for balanced_cuts() and share_layers(). Activations are assumed
// to be whole on every sharer.
std::vector<layout::LayerLoad> layer_loads(const Profile& profile, const ParameterCare& care);

}  // namespace trireme::plan
