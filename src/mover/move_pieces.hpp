// The pieces into which a move cuts the tensors, and the choice of the ranks that send or receive the pieces.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme::mover {

// A box of a tensor whose elements all have the same holders before the move, and the same holders after it.
struct MovePiece {
    std::size_t tensor = 0;  // index in Move::tensors
    layout::Box box;
    std::vector<int> before;  // holders before the move, ascending
    std::vector<int> after;   // holders after the move, ascending

    std::vector<int> list_receiving_ranks() const;  // ranks that hold the piece only after the move
    std::vector<int> list_retaining_ranks() const;  // ranks that hold the piece before and after the move
};

// Returns the pieces of all elements that some rank holds after the move. Tensors are matched by name. Throws
// BugError if one of these elements has no holder before the move, or if a tensor changes its shape.
std::vector<MovePiece> make_move_pieces(const std::vector<layout::HeldTensor>& before,
                                        const std::vector<layout::HeldTensor>& after);

// Cuts a box into boxes of at most `max_elements` elements. Each result consists of whole rows, or is a range
// of one row. `box` must not be empty, and `max_elements` must not be 0.
std::vector<layout::Box> cut_box(const layout::Box& box, std::size_t max_elements);

// Chooses senders so that they send nearly equal numbers of elements. A separate object can choose receivers in
// the same way.
class LeastLoadedRankChooser {
public:
    // `nodes` has the node number of each rank; if it is empty, all ranks are on one node. `nodes` must outlive
    // this object.
    explicit LeastLoadedRankChooser(const std::vector<int>& nodes) : nodes_(nodes) {}

    // Returns the holder that sends `elements` elements to `destination`. Candidates are the holders on the
    // node of `destination`, or all holders if there is none on this node. The candidate that sends the fewest
    // elements so far is chosen; the lowest rank wins ties.
    int choose(const std::vector<int>& holders, int destination, std::size_t elements);

private:
    bool are_on_same_node(int rank, int other_rank) const;

    const std::vector<int>& nodes_;
    std::map<int, std::size_t> sent_elements_;  // per rank: elements that the rank sends so far
};

}  // namespace trireme::mover
