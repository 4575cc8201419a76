// Merges the logit statistics of several ranks, for all backends that use host memory. There are only five
// values per row and rank, so plain loops on one thread are fast enough.
#pragma once

#include "trireme/kernels/logit_statistics.hpp"

namespace trireme::kernels {

// Implements run() of MergeLogitStatistics.
void merge_logit_statistics(const MergeLogitStatistics& op);

}  // namespace trireme::kernels
