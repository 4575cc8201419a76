// Definitions that all GPU kernels share, and the launch of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/hardware/kernel.cuh"
#include "kernels/cuda/support/gpu_work.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/bf16.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels::gpu {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned all_lanes = 0xFFFFFFFFU;

// Type of sums over T, of statistics, and of gradients of parameters.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Returns the elements of a tensor in GPU memory.
template <class T, class View>
auto elements(const View& tensor) {
    return tensor.template as<T>(device::MemorySpace::gpu);
}

// Returns the elements of a tensor in GPU memory; null data if it is absent.
template <class T>
device::Elements<const T> elements_or_none(const device::ConstTensor& tensor) {
    return tensor.is_present() ? elements<T>(tensor) : device::Elements<const T>{};
}

// Returns row or column indices, (n) i32, in GPU memory. Indices in host memory are copied there.
inline const std::int32_t* names(device::CudaStream& stream, const device::ConstTensor& tensor) {
    if (!tensor.is_present() || tensor.place == device::MemorySpace::gpu)
        return elements_or_none<std::int32_t>(tensor).data;
    return stream.work->tell(std::span(tensor.as<std::int32_t>().data, tensor.columns));
}

// Calls `use(T{})` with the floating-point type of `dtype`, including bf16.
template <class Use>
void visit_type(device::DType dtype, Use&& use) {
    if (dtype == device::DType::bf16) return use(device::Bf16{});
    device::visit_float(dtype, use);
}

// Returns count / size, rounded up.
__host__ __device__ constexpr std::size_t parts(std::size_t count, std::size_t size) {
    return (count + size - 1) / size;
}

inline constexpr std::size_t most_blocks = std::numeric_limits<std::int32_t>::max();

// Returns the number of blocks of `threads` threads that together have at least `count` threads. Throws
// BugError if a grid cannot have that many.
inline unsigned blocks_for(std::size_t count, unsigned threads) {
    const std::size_t blocks = parts(count, threads);
    if (blocks <= most_blocks) return static_cast<unsigned>(blocks);
    throw BugError(cat("a kernel was asked for ", blocks, " blocks of ", threads, " threads"));
}

// Appends a kernel to the stream's queue; a no-op if the grid is empty. `Parameters` are those of the kernel.
template <class... Parameters>
void start(device::CudaStream& stream, const device::GpuGrid& grid, void (*kernel)(Parameters...),
           std::type_identity_t<Parameters>... arguments) {
    if (grid.blocks_x == 0 || grid.blocks_y == 0 || grid.blocks_z == 0) return;
    start_kernel(stream.work->queue(), grid, kernel, arguments...);
}

}  // namespace trireme::kernels::gpu
