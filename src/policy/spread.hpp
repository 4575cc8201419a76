// Layers and micro-batches for stages whose teams are given.
#pragma once

#include <vector>

#include "policy/team_pace.hpp"

namespace trireme::policy {

// Of each stage, the ranks of its replicas.
using Places = std::vector<std::vector<std::vector<int>>>;

Places places_of(const layout::Layout& layout);

// Whether no team has two stages.
bool has_one_stage_each(const Places& places);

// Of each stage, of its replicas.
using StagePaces = std::vector<std::vector<TeamPace>>;

struct SpreadLimits {
    std::size_t microbatches = 1;  // of a step
    bool may_cut = false;
    bool may_take_turns = false;
    std::vector<std::size_t> in_flight = {};  // micro-batches that each stage keeps at once; 1 if not said
    std::size_t memory_limit = 0;             // bytes of a rank; 0: any
};

// Gives a layout other cuts and turns, as far as it may: the longest stage, with the best turns for its layers,
// as short as any cut makes it, and of such cuts the most even one (the smallest sum of squares). Where no cut
// is within the limit it stays as it is. A stage that has a block keeps one: its products are what tells
// whether it is slow.
void spread(layout::Layout& layout, const StagePaces& paces, const RunWork& work, const SpreadLimits& limits);

}  // namespace trireme::policy
