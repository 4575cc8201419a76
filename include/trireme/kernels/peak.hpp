// Measures the peak arithmetic rate of this machine's CPU cores.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// Returns the FLOP/s (multiplications and additions per second) that `threads` threads together achieve with
// all operands in registers. The result is the best of `runs` runs of about 10 ms each, because another process
// may slow down some runs.
double measure_peak_flops(device::DType dtype, int threads, std::size_t runs = 9);

}  // namespace trireme::kernels
