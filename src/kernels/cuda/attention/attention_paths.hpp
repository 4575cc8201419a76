// The ways in which the GPU attends: plain kernels for all types and head sizes, and those for tensor
// cores.
#pragma once

#include "trireme/kernels/attention.hpp"

namespace trireme::kernels::gpu {

void attend_plainly(device::CudaStream& stream, const Attention& op);
void attend_plainly(device::CudaStream& stream, const AttentionBackward& op);

// Of bf16, with heads of at most 128 columns, a multiple of 8, on 16 bytes.
void attend_on_tensor_cores(device::CudaStream& stream, const Attention& op);
void attend_on_tensor_cores(device::CudaStream& stream, const AttentionBackward& op);

}  // namespace trireme::kernels::gpu
