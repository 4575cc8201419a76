// The parts of which a move is made.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme::mover {

// A part of a tensor that is held alike throughout, before and after.
struct Cell {
    std::size_t tensor = 0;
    layout::Box box;
    std::vector<int> before;  // ranks, ascending
    std::vector<int> after;

    std::vector<int> missing() const;  // ranks that are to have it, and have it not
    std::vector<int> keepers() const;  // and those that have it
};

// Of all elements that somebody is to have. Throws BugError where nobody has them.
std::vector<Cell> cells_of(const std::vector<layout::HeldTensor>& before,
                           const std::vector<layout::HeldTensor>& after);

// Parts of at most `most` elements: whole rows, or parts of one.
std::vector<layout::Box> cut_small(const layout::Box& box, std::size_t most);

// Who sends.
class Sources {
public:
    explicit Sources(const std::vector<int>& nodes) : nodes_(nodes) {}  // which outlive it

    // One of `holders`, for so many elements that `destination` is to get.
    int choose(const std::vector<int>& holders, int destination, std::size_t elements);

private:
    bool are_near(int a, int b) const;

    const std::vector<int>& nodes_;
    std::map<int, std::size_t> sent_;  // elements, by rank
};

}  // namespace trireme::mover
