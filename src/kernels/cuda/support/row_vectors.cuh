// Divides a row of any alignment into vectors, and distributes the vectors over the threads of a block.
#pragma once

#include "kernels/cuda/support/vectors.cuh"

namespace trireme::kernels::gpu {

// Returns the number of elements from the beginning of the row to the first aligned vector.
template <class T>
__device__ unsigned count_unaligned(const T* row) {
    // Elements from the preceding multiple of vector_bytes to the row.
    const auto offset = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row) % vector_bytes / sizeof(T));
    return offset == 0 ? 0 : vector_width<T> - offset;
}

template <unsigned width>
using Width = std::integral_constant<unsigned, width>;

// Calls use(Width<n>, column) for each aligned vector of n elements. Calls it with n = 1 for each element
// before or after the aligned vectors. The threads of a block divide the calls among themselves; the columns of
// each thread ascend.
template <class T, class Use>
__device__ void for_each_row_vector(const T* row, unsigned columns, Use&& use) {
    const unsigned unaligned = count_unaligned(row);
    const unsigned head = unaligned < columns ? unaligned : columns;
    const unsigned vectors = (columns - head) / vector_width<T>;
    if (threadIdx.x < head) use(Width<1>{}, threadIdx.x);
#pragma unroll 2
    for (unsigned v = threadIdx.x; v < vectors; v += blockDim.x) {
        use(Width<vector_width<T>>{}, head + v * vector_width<T>);
    }
    const unsigned tail_column = head + vectors * vector_width<T> + threadIdx.x;
    if (tail_column < columns) use(Width<1>{}, tail_column);
}

}  // namespace trireme::kernels::gpu
