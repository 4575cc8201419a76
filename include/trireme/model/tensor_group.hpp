// Collectives of the tensor ranks of a replica. Between the branches of a block every tensor rank has all rows
// of a micro-batch, with equal values, or, with sequence parallelism, only a range of them: its own rows.
// (Korthikanti et al., 2022, section 4.2)
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

struct TensorGroup {
    comm::Communicator& communicator;
    device::Arena& exchange;  // memory for temporaries of the collectives
    bool cuts_rows = false;   // sequence parallelism: the rows are divided among the ranks
};

// Returns the range of rows that this rank has between branches: all rows, or its own ones.
layout::Range find_own_rows(const Pass& pass);

// Returns true if this rank must add its gradients of parameters that all tensor ranks hold (norms). These
// gradients are later summed over the ranks. Without sequence parallelism all ranks compute equal gradients,
// and therefore only the first rank adds its own. With sequence parallelism each rank adds the gradients of its
// rows.
bool adds_shared_gradients(const Pass& pass);

// Collective over the tensor group. Returns all rows; `own_rows` has this rank's rows. With sequence
// parallelism this is an all-gather into a tensor from `arena`; otherwise returns `own_rows`.
device::ConstTensor gather_all_rows(const Pass& pass, device::ConstTensor own_rows, device::Arena& arena);

// Returns a view of this rank's rows of a tensor that has all rows.
template <class View>
View view_own_rows(const Pass& pass, const View& all_rows) {
    const layout::Range own_rows = find_own_rows(pass);
    return all_rows.row_range(own_rows.begin, own_rows.count);
}

// Collective over the tensor group. Sums `partial_sum`, which has all rows, over the ranks: an all-reduce, or a
// reduce-scatter with sequence parallelism. Returns this rank's rows of the sum, in the memory of
// `partial_sum`.
device::Tensor reduce_over_ranks(const Pass& pass, device::Tensor partial_sum);

}  // namespace trireme::model
