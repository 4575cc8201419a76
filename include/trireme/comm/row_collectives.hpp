// What the ranks of a tensor group do with the rows of a micro-batch that they have cut among themselves, or
// have all made a part of. `ranges` has the rows of each rank, in order and without gaps; they may be empty.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"

namespace trireme {

// Collective over `group`. Each rank has filled its own rows of `values` (rows, columns; contiguous); gets the
// others'.
void gather_rows(Communicator& group, Tensor values, const std::vector<Range>& ranges);

// Collective over `group`. The own rows of `values` = sum over ranks of those rows, added in rank order; the
// other rows stay as they are. Temporaries come from `scratch`.
void sum_rows(Communicator& group, Tensor values, const std::vector<Range>& ranges, Arena& scratch);

}  // namespace trireme
