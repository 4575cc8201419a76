// Copies of tensors between memories.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme {

// Both are of the same type and shape, in the machine's memory or the GPU's, and do not overlap. Where either
// is the GPU's, behind all that this process has given it to do, and done when it returns; so long it waits for
// it. Nothing is copied where either is a ghost. Throws BugError where they differ.
void copy_rows(ConstTensor from, Tensor to, const Patience& patience = {});

}  // namespace trireme
