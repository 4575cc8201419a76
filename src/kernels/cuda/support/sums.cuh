// Reductions over the threads of a warp or block, in an order that depends only on the thread indices.
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

// Returns the value of lane (own lane XOR distance); `distance` is a power of two. Structs have their own
// overloads.
template <class T>
requires std::is_arithmetic_v<T> __device__ T exchanged(T value, int distance) {
    return __shfl_xor_sync(all_lanes, value, distance);
}

// Reduces the values of a warp with join(a, b). All lanes get the result.
template <class T, class Join>
__device__ T of_warp(T value, Join join) {
    for (int distance = 16; distance > 0; distance /= 2) value = join(value, exchanged(value, distance));
    return value;
}

// Reduces the values of a block of at most 1,024 threads in whole warps. All threads get the result. `neutral`
// is the identity of `join`.
template <class T, class Join>
__device__ T of_block(T value, Join join, T neutral) {
    __shared__ T of_warps[warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    value = of_warp(value, join);
    __syncthreads();  // all threads have read the results of an earlier call
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    return of_warp(lane < blockDim.x / warp_size ? of_warps[lane] : neutral, join);
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
__device__ T warp_sum(T value) {
    return of_warp(value, Sum{});
}

template <class T>
__device__ T block_sum(T value) {
    return of_block(value, Sum{}, T{0});
}

template <class T>
__device__ T block_maximum(T value, T least) {
    return of_block(value, Maximum{}, least);
}

}  // namespace trireme::kernels::gpu
