// A move by way of memory that the ranks of a node share: the twin, in the words of FlexPipe (Zhao et al.,
// 2025), of what has to change its place. A node gets what it lacks once, however many of its ranks are to have
// it, and a rank takes what it is to have without the one that had it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trireme/layout/held_state.hpp"
#include "trireme/mover/carry_out.hpp"
#include "trireme/mover/move.hpp"

namespace trireme::mover {

// Three moves, each over all ranks: `out`, from the memory of before into the twins; `stay`, from there to the
// memory behind, of what is there already; `in`, from the own node's twin to the memory behind, once its ranks
// are done with `out`. Only `out` sends messages: what no rank of a node has.
struct TwinMove {
    Move out, stay, in;
    std::map<int, std::vector<layout::TensorBox>>
        twins;  // of each node, one box behind the other, none overlapping

    std::size_t elements_at(int node) const;
    std::size_t elements() const;  // of all twins
};

// `rules.nodes` names each rank's node, in whatever numbers; none: all are on one, number 0.
TwinMove plan_twin_move(const std::vector<layout::HeldTensor>& before,
                        const std::vector<layout::HeldTensor>& after, const MoveRules& rules = {});

// The boxes of a node's twin in the node's memory.
std::vector<BoxInMemory> boxes_of_twin(const TwinMove& move, int node, device::DType dtype, std::byte* memory);

}  // namespace trireme::mover
