// Collectives of the tensor ranks of a replica. Between the branches of a block, every tensor rank has its own
// rows of a micro-batch. Without sequence parallelism, a rank's own rows are all rows, with equal values on all
// ranks. With sequence parallelism, each rank has a different range of the rows. (Korthikanti et al., 2022,
// section 4.2)
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

// The tensor ranks of a replica.
struct TensorGroup {
    comm::Communicator& communicator;
    device::Arena& exchange;  // memory for temporaries of the collectives
    bool cuts_rows = false;   // sequence parallelism: the rows are divided among the ranks
};

// Returns the own rows of this rank: the rows that the rank has between branches.
layout::Range find_own_rows(const Pass& pass);

// Returns true if this rank must add its gradients of parameters that all tensor ranks hold, such as norms.
// These gradients are later summed over the ranks. Without sequence parallelism all ranks compute equal
// gradients, so only the first rank adds them. With sequence parallelism each rank adds the gradients of its
// own rows.
bool adds_shared_gradients(const Pass& pass);

// Collective over the tensor group. Returns all rows of a tensor of which `own_rows` has this rank's own rows.
// With sequence parallelism this is an all-gather into a tensor from `arena`. Otherwise returns `own_rows`.
device::ConstTensor gather_all_rows(const Pass& pass, device::ConstTensor own_rows, device::Arena& arena);

// Returns a view of this rank's own rows of `all_rows`, a tensor that has all rows.
template <class View>
View view_own_rows(const Pass& pass, const View& all_rows) {
    const layout::Range own_rows = find_own_rows(pass);
    return all_rows.row_range(own_rows.begin, own_rows.count);
}

// Collective over the tensor group. Sums `partial_sum`, which has all rows, over the ranks: an all-reduce, or a
// reduce-scatter with sequence parallelism. Returns this rank's own rows of the sum, a view of `partial_sum`.
device::Tensor reduce_over_ranks(const Pass& pass, device::Tensor partial_sum);

}  // namespace trireme::model
