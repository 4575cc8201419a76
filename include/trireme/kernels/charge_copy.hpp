// Copies that simulated devices are charged for. The values are copied elsewhere, without a kernel, so without
// the charge the copies would take no simulated time.
#pragma once

#include "trireme/device/stream.hpp"

namespace trireme::kernels {

// Charges a simulated device with the time of a copy that reads and writes `bytes` bytes in total. No-op on a
// real device, where the time of the copy has already passed.
void charge_copy(device::Stream& stream, double bytes);

}  // namespace trireme::kernels
