// Moves the state of a run from one plan to another through staging copies in node memory (`--move twins`).
#pragma once

#include "trireme/comm/node_memory.hpp"
#include "trireme/mover/staging_copies.hpp"
#include "trireme/rank/state_moves.hpp"

namespace trireme::rank {

// The moves of all ranks from one plan to another.
struct StagedMoves {
    mover::StagedMove values;
    mover::StagedMove moments;             // executed once per kind of optimizer state
    std::vector<std::string> thawed = {};  // see StateMoves

    // Returns the maximum number of elements in the staging copy of node `node`. At any time, the staging copy
    // holds either the parameters or one kind of optimizer state.
    std::size_t max_node_elements(int node) const;
};

// Plans the moves; see plan_state_moves() for the arguments.
StagedMoves plan_staged_moves(const PlanTensors& from, const PlanTensors& to, const mover::MoveRules& rules);

// The resources of a rank for a move through staging copies.
struct StagingResources {
    comm::Communicator& group;  // has all ranks of the job; serves nothing else
    int node;                   // number of the node of this rank, as in MoveRules::nodes
    comm::NodeMemory& memory;   // shared memory of this node; allocated only during the move
};

// Collective over all ranks of the job. Moves the optimizer state, one kind after the other, then the
// parameters. Frees the old memory of each kind before the next kind moves. `dtype` is the type of the
// parameters.
void move_state_by_staging(RankState from, const StateDestination& to, const StagedMoves& moves,
                           device::DType dtype, const StagingResources& resources);

}  // namespace trireme::rank
