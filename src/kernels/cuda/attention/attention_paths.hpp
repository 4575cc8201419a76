// The two implementations of attention on the GPU: kernels that use no tensor cores, for all types and head
// sizes, and kernels for tensor cores.
#pragma once

#include "trireme/kernels/attention.hpp"

namespace trireme::kernels::gpu {

void run_plain_attention(device::CudaStream& stream, const Attention& op);
void run_plain_attention(device::CudaStream& stream, const AttentionBackward& op);

// The run_tensor_attention() functions require bf16, a positive scale, a head size that is a multiple of 8 and
// at most 128, and rows aligned to 16 bytes.
void run_tensor_attention(device::CudaStream& stream, const Attention& op);
void run_tensor_attention(device::CudaStream& stream, const AttentionBackward& op);

}  // namespace trireme::kernels::gpu
