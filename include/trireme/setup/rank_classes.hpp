// Finds the ranks of a plan that need equal memory, apart from the memory for the shards that they own.
#pragma once

#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::setup {

// Ranks at the same position in their teams. The teams hold the same stages with equal shares, and their
// programs need the same numbers of buffers. A team with migrations shares no class with other teams.
struct RankClass {
    std::vector<int> ranks;  // ascending
    InFlight max_in_flight;  // in-flight counts of each rank of the class; `batch_bytes` is 0
};

// Returns the classes of all ranks that are not idle, sorted by their lowest ranks.
std::vector<RankClass> find_rank_classes(const plan::Plan& plan);

// Returns the team index of each of the ranks 0 to ranks - 1, or -1 for an idle rank.
std::vector<int> find_teams_of_ranks(const std::vector<layout::Team>& teams, std::size_t ranks);

}  // namespace trireme::setup
