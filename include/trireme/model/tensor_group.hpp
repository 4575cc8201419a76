// What the tensor ranks of a replica do together. Between the branches of a block every rank has the rows of a
// micro-batch: all of them, and the same, or, with sequence parallelism, its own. (Korthikanti et al., 2022,
// section 4.2)
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

struct TensorGroup {
    comm::Communicator& ranks;
    device::Arena& exchange;  // temporaries of the exchanges
    bool cuts_rows = false;   // sequence parallelism
};

// The rows of the micro-batch that this rank has between branches.
layout::Range own_rows(const Pass& pass);

// Whether this rank adds to the gradients of what all tensor ranks hold: where all have computed the same, only
// the first does.
bool counts_what_all_hold(const Pass& pass);

// Collective over the tensor group. All rows, of which `own` has this rank's. Without sequence parallelism
// these are all; otherwise the tensor comes from `arena`.
device::ConstTensor whole_rows(const Pass& pass, device::ConstTensor own, device::Arena& arena);

// This rank's rows of a tensor that has all.
template <class View>
View own_part(const Pass& pass, const View& whole) {
    const layout::Range own = own_rows(pass);
    return whole.row_range(own.begin, own.count);
}

// Collective over the tensor group. `partial` has all rows, of which each rank has made a part of each element.
// Gives this rank's rows of the sum, in the memory of `partial`.
device::Tensor sum_over_ranks(const Pass& pass, device::Tensor partial);

}  // namespace trireme::model
