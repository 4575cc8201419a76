// The state that a rank holds: values of parameters, and the optimizer's moments of some of them.
#pragma once

#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/layout/pieces.hpp"

namespace trireme::layout {

// A box of one tensor; `tensor` is an index into a list of tensors.
struct TensorBox {
    std::size_t tensor = 0;
    Box box;

    friend bool operator==(const TensorBox&, const TensorBox&) = default;
};

// The boxes of each list are sorted by tensor, row and column.
struct HeldState {
    std::vector<TensorBox> values;   // the values that the rank holds; boxes do not overlap
    std::vector<TensorBox> moments;  // the elements that it updates and keeps moments of
    std::vector<TensorBox> owned;    // the elements that it saves and sends: each has one owner
};

// An element is owned by the owner of its shard. With a sharded optimizer a rank keeps moments of the elements
// that it owns, otherwise of all elements that it holds.
HeldState held_state(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                     const std::vector<Bucket>& buckets, bool shards_optimizer, int rank);

// Returns the origin of the rank's elements inside `local`, a box in coordinates of the rank's own matrix. Each
// result is a box of the global tensor with its position relative to the first element of `local`.
std::vector<Placement> placements_within(const std::vector<Placement>& placements, const Box& local);

}  // namespace trireme::layout
