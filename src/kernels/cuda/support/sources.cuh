// Where the rows, or the columns, of a scatter's output get their elements.
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

// 1 + the number of the one that names a row or a column; 0 where none does.
using Source = std::uint32_t;

inline constexpr unsigned source_threads = 256;

template <class Name>
__global__ void __launch_bounds__(source_threads)
    name_sources(const Name* names, std::size_t count, Source* sources) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) sources[names[i]] = static_cast<Source>(i + 1);
}

// The sources of `end` rows or columns, in `memory` for as many. `named` is (count) i32.
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
