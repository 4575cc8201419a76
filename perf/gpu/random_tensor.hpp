// Operands of what is measured: a GPU multiplies zeros faster than other numbers.
#pragma once

#include "trireme/device/buffer.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::perf {

// Normally distributed, with deviation 1; other numbers for each name.
inline void fill_at_random(device::Stream& stream, const device::Tensor& tensor, std::uint64_t name) {
    launch(stream, kernels::FillNormal{.output = tensor,
                                       .key = RandomKey{2026}.then(name),
                                       .deviation = 1,
                                       .global_columns = tensor.columns});
}

}  // namespace trireme::perf
