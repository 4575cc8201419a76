// What adding up the ranks' gradients takes where time is simulated: no kernel does it.
#pragma once

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::rank {

// Bytes that this rank reads and writes to add its share of each bucket that it holds with others.
double bytes_of_sums(const stage::GradientPlan& gradients, int rank, device::DType dtype);

// They take what copying as many takes, on a simulated device; by the wall they have taken their time already.
void charge_sums(device::Stream& stream, double bytes);

}  // namespace trireme::rank
