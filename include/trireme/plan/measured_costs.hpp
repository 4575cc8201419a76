// Computes the costs of stages from the measured costs of layers.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/partition.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::plan {

// Returns the costs of each stage in seconds. `profiles` are profiles of the plan's model.
//   passes   Forward and backward passes have the costs of the rank whose passes take longest. The ranks of a
//            tensor group are assumed to need time in proportion to their shares. If the plan's programs split
//            the backward passes of a stage, the two halves have their measured costs. Otherwise the costs of
//            the two halves add up to the measured cost of a whole backward pass. Full recomputation adds the
//            cost of the forward pass to the input half.
//   send     A message uses the slowest link between a replica of the stage and one of an adjacent stage.
//   reduce   The all-reduce uses the slowest link between the first replica of the stage and any other.
//   step     The update is the longest one of all ranks. If the replicas shard the optimizer state, its
//            time is divided by the number of replicas.
std::vector<schedule::StageCost> compute_stage_costs(const RankProfiles& profiles, const Plan& plan);

// Returns the same costs, also for a plan without programs. `splits_backward` has one entry per stage: true if
// the stage's backward passes are split.
std::vector<schedule::StageCost> compute_stage_costs(const RankProfiles& profiles, const Plan& plan,
                                                     const std::vector<bool>& splits_backward);

// The counts that determine the memory of the optimizer state and the time of an update on each rank.
struct OptimizerSharding {
    std::size_t state_values = 2;       // optimizer state values per parameter
    std::size_t updating_replicas = 1;  // number of replicas that shard optimizer state and update
    std::size_t tensor_ranks = 1;       // number of ranks that share a replica's tensors evenly
};

// Returns the load of each layer on one rank, for find_balanced_cuts() and plan_pipedream_layout(). Seconds and
// parameters are divided by the number of tensor ranks. Output rows, activations and workspace are not divided.
std::vector<layout::LayerLoad> compute_layer_loads(const Profile& profile, const OptimizerSharding& sharding);

}  // namespace trireme::plan
