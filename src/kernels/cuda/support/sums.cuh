// Reductions over the threads of a warp or block, in an order that depends only on the thread indices.
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

// Returns the `value` that the lane with index (own lane XOR `distance`) passes; `distance` is a power of two.
// A kernel that reduces a struct declares an overload for it.
template <class T>
requires std::is_arithmetic_v<T> __device__ T shuffle_xor(T value, int distance) {
    return __shfl_xor_sync(all_lanes, value, distance);
}

// Reduces the values of a warp with combine(a, b). All lanes get the result.
template <class T, class Combine>
__device__ T reduce_warp(T value, Combine combine) {
    for (int distance = 16; distance > 0; distance /= 2) value = combine(value, shuffle_xor(value, distance));
    return value;
}

// Reduces the values of a block with combine(a, b). All threads get the result. The block has at most 1,024
// threads and only full warps. `neutral` is the identity of `combine`.
template <class T, class Combine>
__device__ T reduce_block(T value, Combine combine, T neutral) {
    __shared__ T warp_values[warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    value = reduce_warp(value, combine);
    __syncthreads();  // all threads have read the results of an earlier call
    if (lane == 0) warp_values[warp] = value;
    __syncthreads();
    return reduce_warp(lane < blockDim.x / warp_size ? warp_values[lane] : neutral, combine);
}

struct Sum {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};

struct Maximum {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};

template <class T>
__device__ T sum_over_warp(T value) {
    return reduce_warp(value, Sum{});
}

template <class T>
__device__ T sum_over_block(T value) {
    return reduce_block(value, Sum{}, T{0});
}

template <class T>
__device__ T max_over_block(T value, T lowest) {
    return reduce_block(value, Maximum{}, lowest);
}

}  // namespace trireme::kernels::gpu
