// Shared memory and kernel launches in CUDA. The emulated GPU of the tests has its own versions of the files in
// this folder. Builds for the emulated GPU search the folder of these versions first.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <type_traits>

#include "trireme/device/gpu.hpp"

namespace trireme::kernels::gpu {

// Returns the dynamic shared memory of the block, aligned to 16 bytes.
template <class T>
__device__ T* shared_memory() {
    extern __shared__ uint4 trireme_shared_memory[];
    return reinterpret_cast<T*>(trireme_shared_memory);
}

// Appends a kernel to the queue.
template <class... Parameters>
void launch_kernel(device::GpuQueue& queue, const device::GpuGrid& grid, void (*kernel)(Parameters...),
                   std::type_identity_t<Parameters>... arguments) {
    std::array<void*, sizeof...(arguments)> addresses{&arguments...};
    device::launch_kernel(queue, grid, reinterpret_cast<const void*>(kernel), addresses.data());
}

}  // namespace trireme::kernels::gpu
