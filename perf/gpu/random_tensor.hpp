// Random operands for measurements: a GPU multiplies zeros faster than other numbers.
#pragma once

#include "trireme/device/buffer.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::perf {

// Fills the tensor with normally distributed numbers of mean 0 and standard deviation 1. Each `name`
// selects different numbers.
inline void fill_at_random(device::Stream& stream, const device::Tensor& tensor, std::uint64_t name) {
    launch(stream, kernels::FillNormal{.output = tensor,
                                       .key = RandomKey{2026}.then(name),
                                       .deviation = 1,
                                       .global_columns = tensor.columns});
}

}  // namespace trireme::perf
