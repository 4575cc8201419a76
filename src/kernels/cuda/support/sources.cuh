// Inverts the indices of a scatter: finds the input row (or column) of each output row (or column).
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

// 1 + the index of the input row or column; 0 if there is none.
using Source = std::uint32_t;

inline constexpr unsigned source_threads = 256;

template <class Name>
__global__ void __launch_bounds__(source_threads)
    name_sources(const Name* names, std::size_t count, Source* sources) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) sources[names[i]] = static_cast<Source>(i + 1);
}

// Returns the sources of `end` output rows or columns, stored in `memory`, which has room for them. `named`
// holds the indices, (count) i32.
inline const Source* sources_of(device::CudaStream& stream, const device::ConstTensor& named, std::size_t end,
                                std::byte* memory) {
    if (end == 0) return nullptr;
    auto* const sources = reinterpret_cast<Source*>(memory);
    stream.work->queue().clear(sources, end * sizeof(Source));
    const std::size_t count = named.size();
    start(stream, {.blocks_x = blocks_for(count, source_threads), .threads = source_threads},
          name_sources<std::int32_t>, names(stream, named), count, sources);
    return sources;
}

}  // namespace trireme::kernels::gpu
