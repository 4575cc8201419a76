// Which ranks of a plan need the same memory, but for the shards of the gradients that they add up.
#pragma once

#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::setup {

// Ranks that hold equal parts of the same stages, and whose programs keep as much in flight. Teams with
// migrated products are like no other.
struct RankClass {
    std::vector<int> ranks;  // ascending
    InFlight most;           // without `batch_bytes`
};

// All ranks that work, in the order of the first ranks of the classes.
std::vector<RankClass> rank_classes(const plan::Plan& plan);

// Per rank, the number of its team; -1 for an idle rank.
std::vector<int> teams_of_ranks(const std::vector<layout::Team>& teams, std::size_t ranks);

}  // namespace trireme::setup
