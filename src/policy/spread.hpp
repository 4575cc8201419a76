// Distributes layers and micro-batches over stages whose teams are given.
#pragma once

#include <vector>

#include "policy/team_pace.hpp"

namespace trireme::policy {

// Ranks by stage, replica and position in the team.
using Places = std::vector<std::vector<std::vector<int>>>;

Places places_of(const layout::Layout& layout);

// True if no team has several stages.
bool has_one_stage_each(const Places& places);

// Paces by stage and replica.
using StagePaces = std::vector<std::vector<TeamPace>>;

struct SpreadLimits {
    std::size_t microbatches = 1;  // per step
    bool may_cut = false;
    bool may_take_turns = false;
    // Maximum number of in-flight micro-batches per stage; 1 if missing.
    std::vector<std::size_t> in_flight = {};
    std::size_t memory_limit = 0;  // bytes per rank; 0 means no limit
};

// Changes cuts and turns of a layout as far as `limits` permit. The time of the slowest stage, with the best
// turns for its layers, is minimal; ties go to the smallest sum of squared stage times. If no cut is within the
// memory limit, the cut stays. A stage that has a block keeps at least one, since its matmuls reveal whether
// the stage is slow.
void spread(layout::Layout& layout, const StagePaces& paces, const RunWork& work, const SpreadLimits& limits);

}  // namespace trireme::policy
