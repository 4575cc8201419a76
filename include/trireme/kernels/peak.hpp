// The most that the arithmetic units of this machine do.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// Multiplications and additions per second of `threads` threads that only multiply and add numbers in
// registers: the best of several runs, each of some 10 ms. A run in which another process had the core is
// slower.
double measure_peak_flops(device::DType dtype, int threads, std::size_t runs = 9);

}  // namespace trireme::kernels
