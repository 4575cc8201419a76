// What ranks know of rows of logits, put together, for every backend that reads the host's memory: a few
// numbers a row and rank are so little that plain loops on one thread are fast enough.
#pragma once

#include "trireme/kernels/logit_statistics.hpp"

namespace trireme::kernels {

// What a run() of MergeLogitStatistics does.
void run_merge(const MergeLogitStatistics& op);

}  // namespace trireme::kernels
