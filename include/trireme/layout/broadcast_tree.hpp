// The ranks that broadcast from a root rank or reduce to it, and the messages between them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trireme::layout {

// The shape of a broadcast or reduction.
//   tree     binomial tree: the number of messages doubles from round to round
//   direct   the root sends to, or receives from, every other rank
enum class Spread : std::uint8_t { tree, direct };

struct BroadcastTree {
    std::vector<int> ranks = {};  // the root comes first
    Spread spread = Spread::tree;

    // Returns the rank from which `rank` receives in a broadcast, and to which it sends its partial sums in a
    // reduction; empty for the root.
    std::optional<int> find_parent(int rank) const;
    // Returns the ranks to which `rank` sends in a broadcast, and whose partial sums it adds in a reduction.
    // The rank with the largest subtree comes first.
    std::vector<int> find_children(int rank) const;
    int count_rounds() const;  // rounds of a broadcast in which each rank sends at most one message per round
};

}  // namespace trireme::layout
