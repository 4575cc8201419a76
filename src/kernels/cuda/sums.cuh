// Sums over the threads of a warp and of a block, in an order that depends on their numbers alone.
#pragma once

#include "kernels/cuda/language.cuh"

namespace trireme::gpu {

template <class T>
__device__ T warp_sum(T value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
    return value;
}

template <class T>
__device__ T warp_maximum(T value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        const T other = __shfl_xor_sync(all_lanes, value, distance);
        value = value < other ? other : value;
    }
    return value;
}

// Of all threads of a block of at most 1,024 threads, whole warps; each of them learns it.
template <class T, class Join>
__device__ T of_block(T value, Join join, T neutral) {
    __shared__ T of_warps[warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    value = join(value);
    __syncthreads();  // nobody reads any more what an earlier call left
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    return join(lane < blockDim.x / warp_size ? of_warps[lane] : neutral);
}

template <class T>
__device__ T block_sum(T value) {
    return of_block(
        value, [](T v) { return warp_sum(v); }, T{0});
}

template <class T>
__device__ T block_maximum(T value, T least) {
    return of_block(
        value, [](T v) { return warp_maximum(v); }, least);
}

}  // namespace trireme::gpu
