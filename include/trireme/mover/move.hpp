// What has to travel so that ranks that hold tensors in one way come to hold them in another. Pure: every rank
// that asks gets the same answer, and knows who sends what, and when.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/pieces.hpp"

namespace trireme::mover {

// A box of a tensor that a rank is to have, and a rank that has it.
struct Transfer {
    std::size_t tensor = 0;  // its number in Move::tensors
    layout::Box box;
    int source = 0;
    int destination = 0;  // the source itself, of what is there already

    friend bool operator==(const Transfer&, const Transfer&) = default;
};

// What one rank sends to another in a round, as one message: box behind box, each row by row.
struct Shipment {
    int source = 0;
    int destination = 0;
    std::vector<Transfer> boxes = {};
    std::size_t elements = 0;

    friend bool operator==(const Shipment&, const Shipment&) = default;
};

// One for each pair of ranks at most. A rank posts all its receives of a round, then its sends, and waits for
// them before it turns to the next one, whatever others do meanwhile. The ranks of the earliest round that is
// not over wait for nothing else, so some rank can always go on; and two ranks see their messages in one order.
using MoveRound = std::vector<Shipment>;

struct MoveRules {
    std::vector<int> nodes = {};                       // of each rank; none: all are on one
    std::size_t most_elements = std::size_t{4} << 20;  // that a rank sends and gets in a round
};

struct Move {
    std::vector<std::string> tensors = {};
    std::vector<Transfer> kept = {};  // which only change their place in memory
    std::vector<MoveRound> rounds = {};

    std::size_t elements_sent() const;
    std::size_t elements_kept() const;
    std::size_t most_elements() const;            // that any rank has in flight in a round
    std::size_t most_elements_of_a_rank() const;  // that any rank sends and gets, in all
};

// From `before` to `after`; a tensor has the same name and shape in both. Each rank gets exactly the elements
// that it is to have and has not, each once: from a rank of its own node, if one there has them, and of these
// from the one with the least to send so far, the first of equal ones. Boxes that are larger than a round
// allows are cut. Throws BugError where something is to be held that nobody has.
Move plan_move(const std::vector<layout::HeldTensor>& before, const std::vector<layout::HeldTensor>& after,
               const MoveRules& rules = {});

}  // namespace trireme::mover
