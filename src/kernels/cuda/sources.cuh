// Where the rows, or the columns, of a scatter's output get their elements.
#pragma once

#include "kernels/cuda/packs.cuh"

namespace trireme::gpu {

// 1 + the number of the one that names a row or a column; 0 where none does.
using Source = std::uint32_t;

template <class Name>
__global__ void __launch_bounds__(pack_threads)
    name_sources(const Name* names, unsigned count, Source* sources) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sources[names[i]] = i + 1;
}

// The sources of `end` rows or columns, in `memory` for as many. `named` is (count) i32.
inline const Source* sources_of(CudaStream& stream, const ConstTensor& named, std::size_t end,
                                std::byte* memory) {
    if (end == 0) return nullptr;
    auto* const sources = reinterpret_cast<Source*>(memory);
    stream.work->queue().clear(sources, end * sizeof(Source));
    const unsigned count = checked_count(named.size());
    start(stream, {.blocks_x = static_cast<unsigned>(parts(count, pack_threads)), .threads = pack_threads},
          name_sources<std::int32_t>, names(stream, named), count, sources);
    return sources;
}

}  // namespace trireme::gpu
