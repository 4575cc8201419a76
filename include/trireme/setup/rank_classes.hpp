// Finds the ranks of a plan that need equal memory, apart from the memory for the shards that they own.
#pragma once

#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/setup/memory_prediction.hpp"

namespace trireme::setup {

// A class: all ranks at one position in teams of the same kind. Teams of the same kind hold the same stages
// with equal shares, and their programs use the same buffers. A team with migrations is a kind of its
// own.
struct RankClass {
    std::vector<int> ranks;  // ascending
};

// Returns the classes of all ranks that are not idle, sorted by the lowest rank of each class.
std::vector<RankClass> find_rank_classes(const plan::Plan& plan);

// Returns one entry for each of the ranks 0 to `ranks` - 1: the index of its team in `teams`, or -1 if the rank
// is idle.
std::vector<int> find_teams_of_ranks(const std::vector<layout::Team>& teams, std::size_t ranks);

}  // namespace trireme::setup
