// Groups the ranks of a plan that need the same memory, except for the gradient shards that they own.
#pragma once

#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::setup {

// Ranks that hold equal shares of the same stages and keep equally much in flight. A team with migrated matmuls
// has classes of its own.
struct RankClass {
    std::vector<int> ranks;  // ascending
    InFlight most;           // without `batch_bytes`
};

// Returns the classes of all ranks that are not idle, sorted by their first ranks.
std::vector<RankClass> rank_classes(const plan::Plan& plan);

// Returns the team index of each rank, or -1 for an idle rank.
std::vector<int> teams_of_ranks(const std::vector<layout::Team>& teams, std::size_t ranks);

}  // namespace trireme::setup
