// Finds the ranks of a plan that need equal memory, apart from the gradient shards that they own.
#pragma once

#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::setup {

// Ranks that hold equal shares of the same stages and have equal in-flight counts. The ranks of a team with
// migrations are in no class with ranks of other teams.
struct RankClass {
    std::vector<int> ranks;  // ascending
    InFlight max_in_flight;  // counts per rank of the class; `batch_bytes` is 0
};

// Returns the classes of all ranks that are not idle, sorted by their first ranks.
std::vector<RankClass> find_rank_classes(const plan::Plan& plan);

// Returns the team index of each rank, or -1 for an idle rank.
std::vector<int> find_teams_of_ranks(const std::vector<layout::Team>& teams, std::size_t ranks);

}  // namespace trireme::setup
