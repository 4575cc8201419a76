// The units of which a move is planned.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme::mover {

// A box of a tensor whose elements all have the same holders before the move, and the same holders after it.
struct Cell {
    std::size_t tensor = 0;
    layout::Box box;
    std::vector<int> before;  // ranks, ascending
    std::vector<int> after;

    std::vector<int> missing() const;  // ranks that will hold the cell and lack it
    std::vector<int> keepers() const;  // ranks that hold the cell before and after
};

// Returns the cells of all elements that some rank will hold. Throws BugError if no rank holds them before.
std::vector<Cell> cells_of(const std::vector<layout::HeldTensor>& before,
                           const std::vector<layout::HeldTensor>& after);

// Cuts a box into boxes of at most `most` elements: whole rows, or ranges of one row.
std::vector<layout::Box> cut_small(const layout::Box& box, std::size_t most);

// Chooses senders and balances their load.
class Sources {
public:
    explicit Sources(const std::vector<int>& nodes) : nodes_(nodes) {}  // `nodes` must outlive this object

    // Returns the holder that is to send `elements` elements to `destination`, and counts them.
    int choose(const std::vector<int>& holders, int destination, std::size_t elements);

private:
    bool are_near(int a, int b) const;

    const std::vector<int>& nodes_;
    std::map<int, std::size_t> sent_;  // elements sent, per rank
};

}  // namespace trireme::mover
