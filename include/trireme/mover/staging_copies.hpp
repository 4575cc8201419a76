// A move through a staging copy per node, in memory that the ranks of the node share (the `twins` of FlexPipe;
// Zhao et al., 2025). An element that several ranks of a node need, and that no rank of the node holds, is sent
// to the node only once. Each of these ranks copies the element from the staging copy.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trireme/layout/held_state.hpp"
#include "trireme/mover/move.hpp"
#include "trireme/mover/move_execution.hpp"

namespace trireme::mover {

// Three moves, which all ranks execute in the order of declaration. `to_staging` copies from the old memory of
// the ranks to the staging copies. `local` copies the elements that stay on a rank from the rank's old memory
// to its new memory. `from_staging` copies from the node's staging copy to the new memory of the node's ranks.
// `from_staging` must begin after all ranks of the node have finished `to_staging`. Only `to_staging` has
// messages, for elements that no rank of the receiving node holds before the move.
struct StagedMove {
    Move to_staging, local, from_staging;
    // Per node number: the boxes of the node's staging copy, in the order in which they are stored, without
    // gaps. Nodes whose ranks receive no elements have no entry.
    std::map<int, std::vector<layout::TensorBox>> staging_boxes;

    std::size_t count_node_elements(int node) const;  // in the staging copy of a node; 0 if there is none
    std::size_t count_elements() const;               // in all staging copies
};

// Plans the move from the slices `before` to the slices `after`. Node numbers are those of `rules.nodes`; if
// `rules.nodes` is empty, all ranks are on node 0. Throws BugError in the same cases as plan_move().
StagedMove plan_staged_move(const std::vector<layout::HeldTensor>& before,
                            const std::vector<layout::HeldTensor>& after, const MoveRules& rules = {});

// Returns the boxes of the staging copy of node `node`; none if the node has no staging copy. `memory` is the
// address of the staging copy.
std::vector<BoxInMemory> list_staging_copy_boxes(const StagedMove& move, int node, device::DType dtype,
                                                 std::byte* memory);

}  // namespace trireme::mover
