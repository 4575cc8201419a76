// Reads values of tensors on the host. Each function waits for the stream.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// Returns the sum of an f64 vector, added in order; 0 for a ghost stream.
double read_sum(device::Stream& stream, device::ConstTensor values);

// Returns the elements of a floating-point tensor, row by row; empty for a ghost stream.
std::vector<double> read_values(device::Stream& stream, device::ConstTensor values);

// Returns the elements of an i32 tensor, row by row; empty for a ghost stream.
std::vector<std::int32_t> read_integers(device::Stream& stream, device::ConstTensor values);

}  // namespace trireme::kernels
