// Computes the costs of stages from the measured costs of layers.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/partition.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::plan {

// Returns the costs of each stage in seconds, for profiles of the plan's model. The two halves of a split
// backward pass have their measured costs. Full recomputation adds the cost of the forward pass to the backward
// pass. The ranks of a tensor group are assumed to need time in proportion to their shares. The cost of a stage
// is that of its slowest rank. A message between two stages uses the slowest link between their replicas; so
// does the all-reduce between the replicas of a stage. If replicas shard the optimizer state, the update is
// divided by their number.
std::vector<schedule::StageCost> compute_stage_costs(const RankProfiles& profiles, const Plan& plan);

// Returns these costs for a plan without programs. `in_halves` has one entry per stage: true if the stage
// splits its backward passes.
std::vector<schedule::StageCost> compute_stage_costs(const RankProfiles& profiles, const Plan& plan,
                                                     const std::vector<bool>& in_halves);

// The counts that determine the memory of the optimizer state and the time of an update on each rank.
struct OptimizerSharding {
    std::size_t state_values = 2;       // optimizer state values per parameter
    std::size_t updating_replicas = 1;  // replicas that shard optimizer state and update
    std::size_t tensor_ranks = 1;       // ranks that share a replica's tensors evenly
};

// Returns the load of each layer on one rank, for find_balanced_cuts() and plan_pipedream_layout(). Each rank
// of a tensor group is assumed to keep the whole activations.
std::vector<layout::LayerLoad> compute_layer_loads(const Profile& profile, const OptimizerSharding& sharding);

}  // namespace trireme::plan
