// The state of a run on its way through the memory of its nodes.
#pragma once

#include "trireme/comm/node_memory.hpp"
#include "trireme/mover/twins.hpp"
#include "trireme/rank/state_moves.hpp"

namespace trireme::rank {

struct TwinMoves {
    mover::TwinMove values;
    mover::TwinMove moments;  // of each of them

    std::size_t most_elements_at(int node) const;  // one part of the state comes after the other
};

// As state_moves().
TwinMoves twin_moves(const plan::Plan& from, const stage::GradientPlan& held, const plan::Plan& to,
                     const stage::GradientPlan& to_hold, const mover::MoveRules& rules);

struct TwinRoad {
    comm::Communicator& group;  // of all ranks of the job, for nothing else
    int node;                   // of this rank, as the rules name it
    comm::NodeMemory& memory;   // of that node
};

// Collective over all ranks of the job. As move_state().
void move_state_by_twins(RankState from, const StatePlace& to, const TwinMoves& moves, device::DType dtype,
                         const TwinRoad& road);

}  // namespace trireme::rank
