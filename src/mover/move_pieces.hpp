// The pieces into which a move cuts the tensors, and the choice of the ranks that send the pieces.
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

// Returns the pieces of all elements that some rank holds after the move. Throws BugError if one of these
// elements has no holder before the move.
std::vector<MovePiece> make_move_pieces(const std::vector<layout::HeldTensor>& before,
                                        const std::vector<layout::HeldTensor>& after);

// Cuts a box into boxes of at most `max_elements` elements, which are whole rows or ranges of one row.
std::vector<layout::Box> cut_box(const layout::Box& box, std::size_t max_elements);

// Chooses senders so that they send nearly equal numbers of elements.
class SenderChooser {
public:
    explicit SenderChooser(const std::vector<int>& nodes)
        : nodes_(nodes) {}  // `nodes` must outlive this object

    // Returns the holder that sends `elements` elements to `destination`: one on the same node if possible, and
    // of these the one that sends the fewest elements so far.
    int choose(const std::vector<int>& holders, int destination, std::size_t elements);

private:
    bool are_on_same_node(int a, int b) const;

    const std::vector<int>& nodes_;
    std::map<int, std::size_t> sent_elements_;  // elements that a rank sends, per rank
};

}  // namespace trireme::mover
