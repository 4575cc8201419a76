#include "trireme/layout/broadcast_tree.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

std::size_t find_position(const std::vector<int>& ranks, int rank) {
    const auto at = std::ranges::find(ranks, rank);
    if (at == ranks.end())
        throw BugError(cat("rank ", rank, " is not among the ", ranks.size(), " ranks of a broadcast tree"));
    return static_cast<std::size_t>(at - ranks.begin());
}

}  // namespace

// Positions are indices into `ranks`. In a binomial tree, the position of the parent is the rank's position
// with its lowest set bit cleared.
std::optional<int> BroadcastTree::find_parent(int rank) const {
    const std::size_t position = find_position(ranks, rank);
    if (position == 0) return std::nullopt;
    return ranks[spread == Spread::direct ? 0 : position & (position - 1)];
}

// In a binomial tree, the position of a child is the rank's position with one more bit set. This bit is lower
// than the lowest set bit of the rank's position. Position 0, the root, has no set bit, so any bit may be set.
std::vector<int> BroadcastTree::find_children(int rank) const {
    const std::size_t position = find_position(ranks, rank);
    if (spread == Spread::direct)
        return position == 0 ? std::vector<int>(ranks.begin() + 1, ranks.end()) : std::vector<int>{};
    const std::size_t end_bit = position == 0 ? std::bit_ceil(ranks.size()) : position & (~position + 1);
    std::vector<int> children;
    for (std::size_t bit = end_bit / 2; bit > 0; bit /= 2) {
        if (position + bit < ranks.size()) children.push_back(ranks[position + bit]);
    }
    return children;
}

int BroadcastTree::count_rounds() const {
    const std::size_t other_rank_count = ranks.size() - 1;
    return static_cast<int>(spread == Spread::direct ? other_rank_count : std::bit_width(other_rank_count));
}

}  // namespace trireme::layout
