// The ranks of a broadcast from a root rank or of a reduction to a root rank, and the messages between the
// ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trireme::layout {

// The shape of a broadcast or reduction.
//   tree     binomial tree: in each round of a broadcast, every rank that has the data sends it to one more
//            rank; a reduction sends the same messages in reverse
//   direct   the root sends to, or receives from, every other rank
enum class Spread : std::uint8_t { tree, direct };

// A broadcast or a reduction. find_parent() and find_children() throw BugError if `rank` is not in `ranks`.
struct BroadcastTree {
    std::vector<int> ranks = {};  // at least the root, which comes first
    Spread spread = Spread::tree;

    // Returns the rank from which `rank` receives in a broadcast, and to which `rank` sends its partial sums in
    // a reduction; empty for the root.
    std::optional<int> find_parent(int rank) const;
    // Returns the ranks to which `rank` sends in a broadcast, and whose partial sums `rank` adds in a
    // reduction. Children with larger subtrees come first.
    std::vector<int> find_children(int rank) const;
    // Returns the number of rounds of a broadcast if each rank sends at most one message per round.
    int count_rounds() const;
};

}  // namespace trireme::layout
