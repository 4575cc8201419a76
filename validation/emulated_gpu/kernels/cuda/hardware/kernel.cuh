// Shared memory and kernel launches of the emulated GPU, as kernels use them.
#pragma once

#include <type_traits>

#include "emulated_gpu/queue.hpp"
#include "emulated_gpu/thread.hpp"

namespace trireme::kernels::gpu {

template <class T>
T* shared_memory() {
    return reinterpret_cast<T*>(emulated::shared_memory());
}

template <class... Parameters>
void launch_kernel(device::GpuQueue& queue, const device::GpuGrid& grid, void (*kernel)(Parameters...),
                   std::type_identity_t<Parameters>... arguments) {
    emulated::launch_kernel(queue, grid, [=] { kernel(arguments...); });
}

}  // namespace trireme::kernels::gpu
