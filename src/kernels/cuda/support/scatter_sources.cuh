// Inverts the indices of a scatter: finds the input row (or column) of each output row (or column).
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

// 1 + the index of the input row (or column) that a scatter writes to an output row (or column); 0 if there is
// no such input.
using Source = std::uint32_t;

inline constexpr unsigned source_threads = 256;

template <class Index>
__global__ void __launch_bounds__(source_threads)
    write_sources(const Index* indices, std::size_t count, Source* sources) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) sources[indices[i]] = static_cast<Source>(i + 1);
}

// Returns the sources of the first `end` output rows (or columns), stored in `memory`. The caller ensures that
// `memory` has space for `end` sources. `indices` is a vector of i32: the output row of each input row.
inline const Source* find_sources(device::CudaStream& stream, const device::ConstTensor& indices,
                                  std::size_t end, std::byte* memory) {
    if (end == 0) return nullptr;
    auto* const sources = reinterpret_cast<Source*>(memory);
    stream.work->queue().clear(sources, end * sizeof(Source));
    const std::size_t count = indices.size();
    launch_kernel(stream, {.blocks_x = count_blocks(count, source_threads), .threads = source_threads},
                  write_sources<std::int32_t>, get_gpu_indices(stream, indices), count, sources);
    return sources;
}

}  // namespace trireme::kernels::gpu
