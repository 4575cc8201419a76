// Moves the state of a run from one plan to another through staging copies in node memory (--move twins).
#pragma once

#include "trireme/comm/node_memory.hpp"
#include "trireme/mover/twins.hpp"
#include "trireme/rank/state_moves.hpp"

namespace trireme::rank {

struct TwinMoves {
    mover::TwinMove values;
    mover::TwinMove moments;  // one move for each tensor that the optimizer keeps

    // Maximum number of elements in the staging copy of a node, which holds one tensor at a time.
    std::size_t most_elements_at(int node) const;
};

// Plans the moves; see state_moves() for the arguments.
TwinMoves twin_moves(const plan::Plan& from, const stage::GradientPlan& held, const plan::Plan& to,
                     const stage::GradientPlan& to_hold, const mover::MoveRules& rules);

// The resources for such a move on this rank.
struct TwinRoad {
    comm::Communicator& group;  // all ranks of the job; serves nothing else
    int node;                   // node of this rank, as numbered in the rules
    comm::NodeMemory& memory;   // memory of this node
};

// Collective over all ranks of the job. Moves the state in the same order as move_state().
void move_state_by_twins(RankState from, const StatePlace& to, const TwinMoves& moves, device::DType dtype,
                         const TwinRoad& road);

}  // namespace trireme::rank
