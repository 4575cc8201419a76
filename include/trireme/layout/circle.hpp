// Some ranks of a group around one of them, and who speaks to whom when that one tells all of them something,
// or adds up what they have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trireme::layout {

//   tree     messages double in number from round to round (a binomial tree)
//   direct   the first rank speaks to each of the others itself
enum class Spread : std::uint8_t { tree, direct };

struct Circle {
    std::vector<int> ranks = {};  // the one in the middle first
    Spread spread = Spread::tree;

    // The rank that this one hears from, and sends its sums to; none: it is in the middle.
    std::optional<int> above(int rank) const;
    // Those that it speaks to, and adds up the sums of: who has the longest way behind him first.
    std::vector<int> below(int rank) const;
    int rounds() const;  // of messages from the middle until all have heard, where a rank sends one in each
};

}  // namespace trireme::layout
