// A move through staging copies in memory that the ranks of a node share (the twins of FlexPipe; Zhao et al.,
// 2025). A node receives the elements that it lacks once, even if several of its ranks need them. A rank reads
// them later without involving the rank that held them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trireme/layout/held_state.hpp"
#include "trireme/mover/carry_out.hpp"
#include "trireme/mover/move.hpp"

namespace trireme::mover {

// Three moves, each over all ranks. `out` copies from the old memory to the staging copies. `stay` copies what
// a rank holds already from the old to the new memory. `in` copies from the node's staging copy to the new
// memory, after all ranks of the node have finished `out`. Only `out` sends messages, for elements that no rank
// of a node holds.
struct TwinMove {
    Move out, stay, in;
    // Boxes of the staging copy per node, stored one after another without overlap.
    std::map<int, std::vector<layout::TensorBox>> twins;

    std::size_t elements_at(int node) const;
    std::size_t elements() const;  // of all staging copies
};

// `rules.nodes` has the node number of each rank; any numbers will do. If it is empty, all ranks are on node 0.
TwinMove plan_twin_move(const std::vector<layout::HeldTensor>& before,
                        const std::vector<layout::HeldTensor>& after, const MoveRules& rules = {});

// Returns the boxes of a node's staging copy, which starts at `memory`.
std::vector<BoxInMemory> boxes_of_twin(const TwinMove& move, int node, device::DType dtype, std::byte* memory);

}  // namespace trireme::mover
