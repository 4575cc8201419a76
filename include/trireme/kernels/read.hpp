// Numbers that come back from a device to the host.
#pragma once

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme {

// The sum of an f64 vector, added in order. Waits for the stream. A ghost gives 0.
double read_sum(Stream& stream, ConstTensor values);

}  // namespace trireme
