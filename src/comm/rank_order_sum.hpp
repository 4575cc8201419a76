// Adding what came from the other ranks, in an order that does not depend on which rank adds.
#pragma once

#include "trireme/comm/communicator.hpp"

namespace trireme {

// What the ranks but this one sent, one row for each, in rank order.
Tensor received_from(const Communicator& group, Tensor received, int peer);

// own = sum over ranks, in rank order. `own` is (1, n), `received` (ranks - 1, n or more). A ghost group adds
// nothing, as nothing came.
void add_in_rank_order(const Communicator& group, Tensor own, ConstTensor received);

}  // namespace trireme
