// Numbers that come back from a device to the host.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// The sum of an f64 vector, added in order. Waits for the stream. A ghost gives 0.
double read_sum(device::Stream& stream, device::ConstTensor values);

// The elements of a floating-point tensor, row by row. Waits for the stream. A ghost gives none.
std::vector<double> read_values(device::Stream& stream, device::ConstTensor values);

// The elements of an i32 tensor, row by row. Waits for the stream. A ghost gives none.
std::vector<std::int32_t> read_numbers(device::Stream& stream, device::ConstTensor values);

}  // namespace trireme::kernels
