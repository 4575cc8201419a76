// What a rank holds of the state of a run: values of parameters, and the optimizer's moments of some of them.
#pragma once

#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/layout/pieces.hpp"

namespace trireme::layout {

// A part of one tensor of a list.
struct TensorBox {
    std::size_t tensor = 0;
    Box box;

    friend bool operator==(const TensorBox&, const TensorBox&) = default;
};

// In order of tensors, rows and columns.
struct HeldState {
    std::vector<TensorBox> values;   // what it holds, none overlapping
    std::vector<TensorBox> moments;  // what it updates, and keeps moments of
    std::vector<TensorBox> owned;  // what it answers for: each element that anybody holds, values and moments,
                                   // is owned by one of those that have it
};

// The owner of an element is that of its shard. Where the optimizer is sharded, a rank keeps moments of what it
// owns, otherwise of all that it holds.
HeldState held_state(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                     const std::vector<Bucket>& buckets, bool shards_optimizer, int rank);

// Where the parts of a rank's matrix that lie in `local`, a box of its own rows and columns, come from: boxes
// of the global tensor, and their places counted from the first element of `local`.
std::vector<Placement> placements_within(const std::vector<Placement>& placements, const Box& local);

}  // namespace trireme::layout
