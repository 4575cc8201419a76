#include "mover/sources.hpp"

#include <algorithm>
#include <tuple>

namespace trireme {

bool Sources::are_near(int a, int b) const {
    return nodes_.empty() || nodes_.at(static_cast<std::size_t>(a)) == nodes_.at(static_cast<std::size_t>(b));
}

int Sources::choose(const std::vector<int>& holders, int destination, std::size_t elements) {
    const int best = *std::ranges::min_element(
        holders, {}, [&](int rank) { return std::tuple(!are_near(rank, destination), sent_[rank], rank); });
    sent_[best] += elements;
    return best;
}

}  // namespace trireme
