// The simulated time of summing the ranks' gradients, which no kernel does.
#pragma once

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::rank {

// Returns the bytes that the rank reads and writes to sum its shards of the buckets that it holds with others.
double bytes_of_sums(const stage::GradientPlan& gradients, int rank, device::DType dtype);

// Charges a simulated device with the time of copying as many bytes. No-op on real devices, where the sums have
// already taken their time.
void charge_sums(device::Stream& stream, double bytes);

}  // namespace trireme::rank
