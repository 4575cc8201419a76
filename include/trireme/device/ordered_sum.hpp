// Sums of what several ranks have made, in one order wherever they are made.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme {

// own = values of rank 0 + of rank 1 + ..., where those of rank `self` are in `own` (1, elements) and the
// others' in the rows of `others` (ranks - 1, elements), in their order. All are of one floating-point type and
// in one place; of the GPU's, behind all that this process has given it to do. Nothing is done to ghosts.
void sum_in_order(Tensor own, std::size_t self, ConstTensor others);

}  // namespace trireme
