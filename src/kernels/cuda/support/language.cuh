// Definitions that all GPU kernels share, and the launch of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/hardware/kernel.cuh"
#include "kernels/cuda/support/gpu_stream_state.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/bf16.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels::gpu {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned all_lanes = 0xFFFFFFFFU;  // mask for the intrinsics of a warp

// The accumulator type of T: the type of sums, statistics, and gradients of parameters. Kernels abbreviate it
// as W (wide).
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Returns the elements of a tensor in GPU memory.
template <class T, class View>
auto get_elements(const View& tensor) {
    return tensor.template as<T>(device::MemorySpace::gpu);
}

// Returns the elements of a tensor in GPU memory; null data if it is absent.
template <class T>
device::Elements<const T> get_elements_or_none(const device::ConstTensor& tensor) {
    return tensor.is_present() ? get_elements<T>(tensor) : device::Elements<const T>{};
}

// Returns row or column indices, a vector of i32, in GPU memory. Uploads indices that are in host memory.
// Returns null if `tensor` is absent.
inline const std::int32_t* get_gpu_indices(device::CudaStream& stream, const device::ConstTensor& tensor) {
    if (!tensor.is_present() || tensor.memory_space == device::MemorySpace::gpu)
        return get_elements_or_none<std::int32_t>(tensor).data;
    return stream.work->upload(std::span(tensor.as<std::int32_t>().data, tensor.columns));
}

// Calls `use(T{})` with the floating-point type of `dtype`, including bf16.
template <class Use>
void visit_type(device::DType dtype, Use&& use) {
    if (dtype == device::DType::bf16) return use(device::Bf16{});
    device::visit_float(dtype, use);
}

// Returns count / size, rounded up.
__host__ __device__ constexpr std::size_t divide_round_up(std::size_t count, std::size_t size) {
    return (count + size - 1) / size;
}

inline constexpr std::size_t max_blocks = std::numeric_limits<std::int32_t>::max();

// Returns the smallest number of blocks of `threads` threads that together have at least `count` threads.
// Throws BugError if a grid cannot have that number of blocks.
inline unsigned count_blocks(std::size_t count, unsigned threads) {
    const std::size_t blocks = divide_round_up(count, threads);
    if (blocks <= max_blocks) return static_cast<unsigned>(blocks);
    throw BugError(cat("a kernel needs ", blocks, " blocks, but a grid has at most ", max_blocks));
}

// Appends a kernel to the stream's queue; does nothing if the grid is empty. `Parameters` are the
// types of the kernel's parameters.
template <class... Parameters>
void launch_kernel(device::CudaStream& stream, const device::GpuGrid& grid, void (*kernel)(Parameters...),
                   std::type_identity_t<Parameters>... arguments) {
    if (grid.blocks_x == 0 || grid.blocks_y == 0 || grid.blocks_z == 0) return;
    launch_kernel(stream.work->queue(), grid, kernel, arguments...);
}

}  // namespace trireme::kernels::gpu
