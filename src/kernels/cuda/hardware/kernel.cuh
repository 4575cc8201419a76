// The language of kernels as CUDA has it, and how it starts one. The tests' emulated GPU has files of its own
// for those in this folder: its compiler finds them first.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <type_traits>

#include "trireme/device/gpu.hpp"

namespace trireme::kernels::gpu {

// Shared memory that the launch gave the block, on 16 bytes.
template <class T>
__device__ T* shared_memory() {
    extern __shared__ uint4 trireme_shared_memory[];
    return reinterpret_cast<T*>(trireme_shared_memory);
}

// Behind all that the queue was given.
template <class... Parameters>
void start_kernel(device::GpuQueue& queue, const device::GpuGrid& grid, void (*kernel)(Parameters...),
                  std::type_identity_t<Parameters>... arguments) {
    std::array<void*, sizeof...(arguments)> addresses{&arguments...};
    device::start_kernel(queue, grid, reinterpret_cast<const void*>(kernel), addresses.data());
}

}  // namespace trireme::kernels::gpu
