// Distributes layers over stages, and micro-batches over the replicas of a stage, without changing teams.
#pragma once

#include <vector>

#include "policy/team_pace.hpp"

namespace trireme::policy {

// Ranks by stage, replica and index in the team.
using TeamPlacement = std::vector<std::vector<std::vector<int>>>;

TeamPlacement find_placement(const layout::Layout& layout);

// True if each team has one stage.
bool have_teams_one_stage(const TeamPlacement& placement);

// Paces by stage and replica.
using StagePaces = std::vector<std::vector<TeamPace>>;

struct DistributionLimits {
    std::size_t microbatches = 1;   // per step, over all replicas
    bool may_move_layers = false;   // layers may move to another stage
    bool may_change_turns = false;  // replicas may get other turns
    // Per stage: maximum number of in-flight micro-batches of a replica. Missing elements count as 1.
    std::vector<std::size_t> in_flight = {};
    std::size_t memory_limit = 0;  // bytes per rank; 0 means no limit
};

// Changes the layers of stages and the turns of replicas as far as `limits` permit, so that the time of the
// slowest stage is minimal. Of equally good results, chooses the one with the smallest sum of squared stage
// times. If no distribution of layers is within the memory limit, the layers stay. A stage that has attention
// or MLP layers keeps at least one, since only the matmuls of these layers reveal slow ranks.
void distribute_layers_and_turns(layout::Layout& layout, const StagePaces& paces, const LayerRunWork& work,
                                 const DistributionLimits& limits);

}  // namespace trireme::policy
