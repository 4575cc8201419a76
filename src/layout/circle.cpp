#include "trireme/layout/circle.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

std::size_t place_in(const std::vector<int>& ranks, int rank) {
    const auto at = std::ranges::find(ranks, rank);
    if (at == ranks.end()) throw BugError(cat("rank ", rank, " is not in a circle of ", ranks.size()));
    return static_cast<std::size_t>(at - ranks.begin());
}

}  // namespace

// In a tree the parent's index is the own index without its lowest set bit.
std::optional<int> Circle::above(int rank) const {
    const std::size_t place = place_in(ranks, rank);
    if (place == 0) return std::nullopt;
    return ranks[spread == Spread::direct ? 0 : place & (place - 1)];
}

std::vector<int> Circle::below(int rank) const {
    const std::size_t place = place_in(ranks, rank);
    if (spread == Spread::direct)
        return place == 0 ? std::vector<int>(ranks.begin() + 1, ranks.end()) : std::vector<int>{};
    const std::size_t lowest = place == 0 ? std::bit_ceil(ranks.size()) : place & (~place + 1);
    std::vector<int> below;
    for (std::size_t digit = lowest / 2; digit > 0; digit /= 2) {
        if (place + digit < ranks.size()) below.push_back(ranks[place + digit]);
    }
    return below;
}

int Circle::rounds() const {
    const std::size_t others = ranks.size() - 1;
    return static_cast<int>(spread == Spread::direct ? others : std::bit_width(others));
}

}  // namespace trireme::layout
