// The parts of which a move is made.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme {

// A part of a tensor that is held alike throughout, before and after.
struct Cell {
    std::size_t tensor = 0;
    Box box;
    std::vector<int> before;  // ranks, ascending
    std::vector<int> after;

    std::vector<int> missing() const;  // ranks that are to have it, and have it not
    std::vector<int> keepers() const;  // and those that have it
};

// Of all elements that somebody is to have. Throws BugError where nobody has them.
std::vector<Cell> cells_of(const std::vector<HeldTensor>& before, const std::vector<HeldTensor>& after);

// Parts of at most `most` elements: whole rows, or parts of one.
std::vector<Box> cut_small(const Box& box, std::size_t most);

}  // namespace trireme
