// A move through a staging copy per node, in memory that the ranks of the node share (the `twins` of FlexPipe;
// Zhao et al., 2025). If several ranks of a node need an element that none of them holds, the node receives it
// only once. A rank copies its new elements from the staging copy, without a message from their former holders.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trireme/layout/held_state.hpp"
#include "trireme/mover/move.hpp"
#include "trireme/mover/move_execution.hpp"

namespace trireme::mover {

// Three moves, which all ranks execute in this order. `to_staging` copies from the old memory of the ranks to
// the staging copies. `local` copies the elements that stay on a rank from its old to its new memory.
// `from_staging` copies from the node's staging copy to the new memory; it must begin after all ranks of the
// node have finished `to_staging`. Only `to_staging` sends messages, for elements that no rank of the receiving
// node holds.
struct StagedMove {
    Move to_staging, local, from_staging;
    // Boxes of the staging copy per node, stored one after another without overlap.
    std::map<int, std::vector<layout::TensorBox>> staging_boxes;

    std::size_t count_node_elements(int node) const;  // of the staging copy of a node
    std::size_t count_elements() const;               // of all staging copies
};

// Plans the move from the ranks' holdings `before` to the holdings `after`. Node numbers are those of
// `rules.nodes`; if `rules.nodes` is empty, all ranks are on node 0. Throws BugError like plan_move().
StagedMove plan_staged_move(const std::vector<layout::HeldTensor>& before,
                            const std::vector<layout::HeldTensor>& after, const MoveRules& rules = {});

// Returns the boxes of the staging copy of node `node`. `memory` is the first byte of the staging copy.
std::vector<BoxInMemory> list_staging_copy_boxes(const StagedMove& move, int node, device::DType dtype,
                                                 std::byte* memory);

}  // namespace trireme::mover
