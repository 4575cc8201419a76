// Plans the messages that bring ranks from one distribution of tensors to another. Planning is a pure function:
// every rank computes the same plan, with the messages of all ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/pieces.hpp"

namespace trireme::mover {

// A box of a tensor that rank `source` holds before the move and that rank `destination` holds after it.
struct Transfer {
    std::size_t tensor = 0;  // index in Move::tensors
    layout::Box box;
    int source = 0;
    int destination = 0;  // equals `source` for a box that stays on its rank

    friend bool operator==(const Transfer&, const Transfer&) = default;
};

// The message from one rank to another in a round (see MoveRound). The message contains the elements of its
// boxes, one box after another, each box row by row.
struct MoveMessage {
    int source = 0;
    int destination = 0;
    std::vector<Transfer> boxes = {};
    std::size_t elements = 0;  // sum over all boxes

    friend bool operator==(const MoveMessage&, const MoveMessage&) = default;
};

// A move is a sequence of rounds, which limit the memory for messages. A round has at most one message per pair
// of source and destination. A rank posts all its receives of a round, then its sends, and waits for all these
// messages before it begins its next round. Different ranks may be in different rounds at the same time. There
// is no deadlock: the ranks of the earliest unfinished round wait only for each other, and any two ranks
// exchange their messages in the same order.
using MoveRound = std::vector<MoveMessage>;

struct MoveRules {
    std::vector<int> nodes = {};  // per rank: number of its node; if empty, all ranks are on one node
    // Maximum number of elements that a rank sends plus receives in a round. Must not be 0.
    std::size_t max_elements_per_round = std::size_t{4} << 20;
};

// The transfers of all ranks.
struct Move {
    std::vector<std::string> tensors = {};  // names
    // Boxes that stay on their rank, which copies them from its old to its new memory.
    std::vector<Transfer> local_copies = {};
    std::vector<MoveRound> rounds = {};

    std::size_t count_sent_elements() const;
    std::size_t count_local_elements() const;
    // Returns the number of elements that a rank sends plus receives in a round: the maximum over all ranks and
    // rounds.
    std::size_t max_elements_per_round() const;
    // Returns the number of elements that a rank sends plus receives in all rounds together: the maximum over
    // all ranks.
    std::size_t max_elements_per_rank() const;
};

// Plans the move from the slices `before` to the slices `after`; tensors keep their names and shapes. Each rank
// receives the elements that it holds in `after` but not in `before`, each element exactly once. Candidates for
// the source of a box are the holders on the receiver's node or, if this node has no holder, all holders. The
// candidate with the fewest elements to send so far becomes the source; the lowest rank wins ties. Boxes that
// are too large for a round are cut. Throws BugError if `after` has an element that no rank holds in `before`,
// or if a tensor changes its shape.
Move plan_move(const std::vector<layout::HeldTensor>& before, const std::vector<layout::HeldTensor>& after,
               const MoveRules& rules = {});

}  // namespace trireme::mover
