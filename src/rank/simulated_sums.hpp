// Charges simulated devices for summing the gradients of several ranks. stage::GradientExchange sums without
// kernels, so without this charge the sums would take no simulated time.
#pragma once

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::rank {

// Returns the bytes that rank `rank` reads and writes in a step to sum its gradient shards. A bucket that only
// `rank` holds needs no sum. A shard counts as an equal fraction of its bucket. `dtype` is the type of the
// gradients.
double count_sum_bytes(const stage::GradientPlan& gradients, int rank, device::DType dtype);

// Charges a simulated device with the time of a copy that reads and writes `bytes` bytes in total. No-op on a
// real device, where the time of the sums has already passed.
void charge_sums(device::Stream& stream, double bytes);

}  // namespace trireme::rank
