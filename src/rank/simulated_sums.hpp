// The work of summing the gradients of several ranks, for which simulated devices are charged.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::rank {

// Returns the bytes that rank `rank` reads and writes in a step to sum its gradient shards. A bucket that only
// `rank` holds needs no sum. A shard counts as an equal fraction of its bucket. `dtype` is the type of the
// gradients.
double count_sum_bytes(const stage::GradientPlan& gradients, int rank, device::DType dtype);

}  // namespace trireme::rank
