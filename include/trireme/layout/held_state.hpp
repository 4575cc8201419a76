// The state that a rank holds: the values of parameter elements, and the optimizer's moments of all or some of
// these elements.
#pragma once

#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/layout/pieces.hpp"

namespace trireme::layout {

// A box of a global tensor.
struct TensorBox {
    std::size_t tensor = 0;  // index into the list of tensors
    Box box;

    friend bool operator==(const TensorBox&, const TensorBox&) = default;
};

// The boxes of each list are sorted by tensor, first row and first column.
struct HeldState {
    std::vector<TensorBox> values;   // elements whose values the rank holds; boxes do not overlap
    std::vector<TensorBox> moments;  // elements that the rank updates, and whose moments it keeps
    std::vector<TensorBox> owned;    // elements that the rank saves; each element of a tensor has one owner
};

// Returns the state that `rank` holds. The owner of a shard owns the elements of the shard; the holders of a
// frozen tensor share its elements evenly. With a sharded optimizer, a rank keeps the moments of the elements
// of trained tensors that it owns. Otherwise the rank keeps the moments of all elements of trained tensors that
// it holds.
HeldState make_held_state(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                          const std::vector<Bucket>& buckets, bool shards_optimizer, int rank);

// Returns the boxes of frozen tensors that `rank` owns: no shard has their elements, so the holders of a piece
// divide its rows.
std::vector<TensorBox> list_owned_frozen_boxes(const std::vector<HeldTensor>& tensors,
                                               const std::vector<Piece>& pieces, int rank);

// Returns the parts of `placements` inside `local`, in the same order. `local` is a box of the matrix that the
// rank stores; Placement::row and Placement::column of the results are relative to the first element of
// `local`.
std::vector<Placement> find_placements_within(const std::vector<Placement>& placements, const Box& local);

}  // namespace trireme::layout
