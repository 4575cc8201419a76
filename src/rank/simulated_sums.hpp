// The simulated time that a rank needs to sum gradients of several ranks. The messages compute these sums, not
// kernels, so without this charge the sums would take no simulated time.
#pragma once

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::rank {

// Returns the bytes that the rank reads and writes to sum its gradient shards. A bucket that only this rank
// holds needs no sum. `dtype` is the type of gradients.
double count_sum_bytes(const stage::GradientPlan& gradients, int rank, device::DType dtype);

// Charges a simulated device with the time of copying `bytes` bytes. No-op on real devices, where the time of
// the sums has already passed.
void charge_sums(device::Stream& stream, double bytes);

}  // namespace trireme::rank
