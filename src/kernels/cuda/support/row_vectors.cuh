// Divides a row among the threads of a block, for any alignment of the row.
#pragma once

#include "kernels/cuda/support/vectors.cuh"

namespace trireme::kernels::gpu {

// Returns the number of elements before the next aligned vector.
template <class T>
__device__ unsigned until_vectors(const T* row) {
    const auto beyond = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row) % vector_bytes / sizeof(T));
    return beyond == 0 ? 0 : vector_width<T> - beyond;
}

template <unsigned width>
using Width = std::integral_constant<unsigned, width>;

// Calls use(Width<n>, column) for the aligned vectors of the row, and with n = 1 for the elements before and
// after them. The columns of a thread ascend.
template <class T, class Use>
__device__ void share_row(const T* row, unsigned columns, Use&& use) {
    const unsigned peeled = until_vectors(row);
    const unsigned head = peeled < columns ? peeled : columns;
    const unsigned vectors = (columns - head) / vector_width<T>;
    if (threadIdx.x < head) use(Width<1>{}, threadIdx.x);
#pragma unroll 2
    for (unsigned v = threadIdx.x; v < vectors; v += blockDim.x) {
        use(Width<vector_width<T>>{}, head + v * vector_width<T>);
    }
    const unsigned rest = head + vectors * vector_width<T> + threadIdx.x;
    if (rest < columns) use(Width<1>{}, rest);
}

}  // namespace trireme::kernels::gpu
