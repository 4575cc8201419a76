// The ranks that broadcast from a root rank or reduce to it, and the messages between them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trireme::layout {

//   tree     binomial tree: the number of messages doubles from round to round
//   direct   the root exchanges messages with every other rank itself
enum class Spread : std::uint8_t { tree, direct };

struct Circle {
    std::vector<int> ranks = {};  // the root comes first
    Spread spread = Spread::tree;

    // Returns the rank from which `rank` receives and to which it sends its partial sums; empty for the root.
    std::optional<int> above(int rank) const;
    // Returns the ranks to which `rank` sends and whose partial sums it adds; the largest subtree comes first.
    std::vector<int> below(int rank) const;
    int rounds() const;  // of a broadcast, if a rank sends one message per round
};

}  // namespace trireme::layout
