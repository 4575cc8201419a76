// Plans the messages that bring ranks from one distribution of tensors to another. Planning is a pure function:
// every rank computes the same plan, with the messages of all ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/pieces.hpp"

namespace trireme::mover {

// A box of a tensor that rank `source` holds and that rank `destination` will hold.
struct Transfer {
    std::size_t tensor = 0;  // index in Move::tensors
    layout::Box box;
    int source = 0;
    int destination = 0;  // equals `source` for a box that stays on its rank

    friend bool operator==(const Transfer&, const Transfer&) = default;
};

// The message from one rank to another in a round. It contains the boxes one after another, each row by row.
struct MoveMessage {
    int source = 0;
    int destination = 0;
    std::vector<Transfer> boxes = {};
    std::size_t elements = 0;  // of all boxes

    friend bool operator==(const MoveMessage&, const MoveMessage&) = default;
};

// The messages of a round, at most one per sender and receiver. A rank posts all its receives of a round, then
// its sends, and waits for all of them before its next round. Meanwhile other ranks may be in other rounds.
// There is no deadlock: the ranks of the earliest unfinished round wait only for each other, and any two ranks
// exchange their messages in the same order.
using MoveRound = std::vector<MoveMessage>;

struct MoveRules {
    std::vector<int> nodes = {};  // number of the node, per rank; if empty, all ranks are on one node
    std::size_t max_elements_per_round = std::size_t{4}
                                         << 20;  // maximum that a rank sends and receives together
};

struct Move {
    std::vector<std::string> tensors = {};  // names
    std::vector<Transfer> local_copies =
        {};  // boxes that stay on their rank but change their position in memory
    std::vector<MoveRound> rounds = {};

    std::size_t count_sent_elements() const;
    std::size_t count_local_elements() const;
    std::size_t max_elements_per_round() const;  // maximum over ranks and rounds, sent and received together
    std::size_t max_elements_per_rank() const;  // maximum over ranks, sent and received together, in all rounds
};

// Plans the move from the ranks' holdings `before` to the holdings `after`; tensors keep their names and
// shapes. Each rank receives exactly the elements that it will hold and does not hold yet, each once. The
// source of an element is one of the holders on the receiver's node or, if no holder is there, one of all
// holders: the one that has the fewest elements to send so far, and of equals the lowest rank. Boxes that are
// too large for a round are cut. Throws BugError if `after` holds an element that no rank holds in `before`.
Move plan_move(const std::vector<layout::HeldTensor>& before, const std::vector<layout::HeldTensor>& after,
               const MoveRules& rules = {});

}  // namespace trireme::mover
