// Plans the messages that take ranks from one distribution of tensors to another. Plans are pure functions:
// every rank computes the same plan, with all senders, receivers and rounds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/pieces.hpp"

namespace trireme::mover {

// A box of a tensor that rank `destination` will hold, and a rank `source` that holds it.
struct Transfer {
    std::size_t tensor = 0;  // index in Move::tensors
    layout::Box box;
    int source = 0;
    int destination = 0;  // equals `source` for boxes that are there already

    friend bool operator==(const Transfer&, const Transfer&) = default;
};

// The message from one rank to another in a round: its boxes one after another, each row by row.
struct Shipment {
    int source = 0;
    int destination = 0;
    std::vector<Transfer> boxes = {};
    std::size_t elements = 0;

    friend bool operator==(const Shipment&, const Shipment&) = default;
};

// Has at most one shipment per pair of ranks. A rank posts all its receives of a round, then its sends, and
// waits for all of them before its next round. Other ranks may be in other rounds. There is no deadlock: the
// ranks of the earliest unfinished round wait only for each other, and any two ranks exchange their messages in
// the same order.
using MoveRound = std::vector<Shipment>;

struct MoveRules {
    std::vector<int> nodes = {};                       // node per rank; if empty, all ranks share one node
    std::size_t most_elements = std::size_t{4} << 20;  // maximum that a rank sends and receives per round
};

struct Move {
    std::vector<std::string> tensors = {};
    std::vector<Transfer> kept = {};  // boxes that only change their position in a rank's memory
    std::vector<MoveRound> rounds = {};

    std::size_t elements_sent() const;
    std::size_t elements_kept() const;
    std::size_t most_elements() const;  // maximum over ranks and rounds of what a rank sends and receives
    // maximum over ranks of what a rank sends and receives in total
    std::size_t most_elements_of_a_rank() const;
};

// Plans the move from `before` to `after`; tensors keep their names and shapes. Each rank receives exactly the
// elements that it will hold and lacks, each once. The source is on the receiver's node if possible. Among
// these it is the rank that has the least to send so far; the lowest rank wins ties. Boxes that are too large
// for a round are cut. Throws BugError if `after` holds an element that no rank holds in `before`.
Move plan_move(const std::vector<layout::HeldTensor>& before, const std::vector<layout::HeldTensor>& after,
               const MoveRules& rules = {});

}  // namespace trireme::mover
