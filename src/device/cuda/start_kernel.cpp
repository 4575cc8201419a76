#include "device/cuda/check_cuda.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme {

void start_kernel(GpuQueue& queue, const GpuGrid& grid, const void* kernel, void** arguments) {
    constexpr std::size_t to_be_asked_for = 48 * 1024;
    if (grid.shared_bytes >= to_be_asked_for) {
        check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(grid.shared_bytes)),
                   "cudaFuncSetAttribute");
    }
    check_cuda(cudaLaunchKernel(kernel, {grid.blocks_x, grid.blocks_y, grid.blocks_z}, {grid.threads, 1, 1},
                                arguments, grid.shared_bytes, static_cast<cudaStream_t>(queue.native())),
               "cudaLaunchKernel");
}

}  // namespace trireme
