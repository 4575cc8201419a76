// What the threads of a warp or of a block join, by a sum or otherwise, in an order that depends on their
// numbers alone.
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

// The value of the lane whose number differs by `distance`, a power of two. Structs have overloads of their
// own.
template <class T>
requires std::is_arithmetic_v<T> __device__ T exchanged(T value, int distance) {
    return __shfl_xor_sync(all_lanes, value, distance);
}

// join(a, b) makes one value of two; each lane learns what all together are.
template <class T, class Join>
__device__ T of_warp(T value, Join join) {
    for (int distance = 16; distance > 0; distance /= 2) value = join(value, exchanged(value, distance));
    return value;
}

// Of all threads of a block of at most 1,024 threads, whole warps; each of them learns it.
template <class T, class Join>
__device__ T of_block(T value, Join join, T neutral) {
    __shared__ T of_warps[warp_size];
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = threadIdx.x / warp_size;
    value = of_warp(value, join);
    __syncthreads();  // nobody reads any more what an earlier call left
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
