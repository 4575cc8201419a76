// The most that the arithmetic units of this machine do.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme {

// Multiplications and additions per second of `threads` threads that only multiply and add numbers in
// registers: the median of some runs, which together take about a tenth of a second.
double measure_peak_flops(DType dtype, int threads);

}  // namespace trireme
