// The checks of indices that only a backend can make, because check() never follows an address: tokens,
// positions and targets must lie within their tables. Each throws BugError with the first that does not.
#pragma once

#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/embedding.hpp"

namespace trireme {

void check_indices(const Embedding& op);
void check_indices(const EmbeddingBackward& op);
void check_indices(const CrossEntropy& op);

}  // namespace trireme
