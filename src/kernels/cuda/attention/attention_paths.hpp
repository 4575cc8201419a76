// The two implementations of attention on the GPU: plain kernels for all types and head sizes, and kernels for
// tensor cores.
#pragma once

#include "trireme/kernels/attention.hpp"

namespace trireme::kernels::gpu {

void attend_plainly(device::CudaStream& stream, const Attention& op);
void attend_plainly(device::CudaStream& stream, const AttentionBackward& op);

// Require bf16, a positive scale, a head size that is a multiple of 8 and at most 128, and rows aligned to 16
// bytes.
void attend_on_tensor_cores(device::CudaStream& stream, const Attention& op);
void attend_on_tensor_cores(device::CudaStream& stream, const AttentionBackward& op);

}  // namespace trireme::kernels::gpu
