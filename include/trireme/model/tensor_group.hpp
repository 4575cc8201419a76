// Collectives of the tensor ranks of a replica. Between the branches of a block every rank has all rows of a
// micro-batch, with equal values. With sequence parallelism it has only its own rows. (Korthikanti et al.,
// 2022, section 4.2)
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

struct TensorGroup {
    comm::Communicator& ranks;
    device::Arena& exchange;  // temporaries of the collectives
    bool cuts_rows = false;   // sequence parallelism
};

// Returns the rows of the micro-batch that this rank has between branches.
layout::Range own_rows(const Pass& pass);

// Returns true if this rank contributes to the gradients of parameters that all tensor ranks hold. Without
// sequence parallelism all ranks compute the same gradient, so only the first one contributes.
bool counts_what_all_hold(const Pass& pass);

// Collective over the tensor group. Returns all rows (all-gather); `own` has this rank's rows. Without sequence
// parallelism it returns `own`; otherwise the tensor comes from `arena`.
device::ConstTensor whole_rows(const Pass& pass, device::ConstTensor own, device::Arena& arena);

// Returns this rank's rows of a tensor that has all rows.
template <class View>
View own_part(const Pass& pass, const View& whole) {
    const layout::Range own = own_rows(pass);
    return whole.row_range(own.begin, own.count);
}

// Collective over the tensor group. Sums `partial`, which has all rows, over the ranks: an all-reduce, or a
// reduce-scatter with sequence parallelism. Returns this rank's rows of the sum, in the memory of `partial`.
device::Tensor sum_over_ranks(const Pass& pass, device::Tensor partial);

}  // namespace trireme::model
