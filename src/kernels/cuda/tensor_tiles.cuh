// Tiles of bf16 in shared memory and their products by tensor cores. A tile has `D` columns, 8 of which are a
// chunk of 16 bytes; chunks of a row change places by its number, so that eight rows' chunks of one column lie
// in different banks. A warp has 16 R rows of a product, which its lanes hold as hardware/tensor_core.cuh
// shows.
#pragma once

#include "kernels/cuda/hardware/tensor_core.cuh"
#include "kernels/cuda/language.cuh"

namespace trireme::gpu {

inline constexpr unsigned tensor_warps = 4;
inline constexpr unsigned tensor_threads = tensor_warps * warp_size;

template <unsigned R, unsigned columns>
using WarpSums = float[R][columns / 8][4];

// Rows in the GPU's memory, on 16 bytes; what is beyond them is zero. Columns are a multiple of 8.
struct ChunkRows {
    const Bf16* first;
    std::size_t stride;
    unsigned rows, columns;
};

template <unsigned D>
__device__ unsigned place_of(unsigned row, unsigned chunk) {
    return row * D + (chunk ^ row % 8) * 8;
}

// Begins to load `count` rows; all threads of a block do.
template <unsigned D>
__device__ void load_tile(const ChunkRows& from, unsigned count, Bf16* tile) {
    constexpr unsigned chunks = D / 8;
    for (unsigned i = threadIdx.x; i < count * chunks; i += tensor_threads) {
        const unsigned row = i / chunks;
        const unsigned chunk = i % chunks;
        const bool is_there = row < from.rows && 8 * chunk < from.columns;
        const Bf16* const place = is_there ? from.first + row * from.stride + 8 * chunk : from.first;
        copy_async(tile + place_of<D>(row, chunk), place, is_there);
    }
}

// products += left rows (16 R from `row` on) times right rows (N), transposed
template <unsigned D, unsigned R, unsigned N>
__device__ void multiply_tiles(const Bf16* left, unsigned row, const Bf16* right,
                               float (&products)[R][N / 8][4]) {
    const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
    for (unsigned k = 0; k < D / 16; ++k) {
        Matrices a[R];
#pragma unroll
        for (unsigned r = 0; r < R; ++r)
            a[r] = load_matrices(left + place_of<D>(row + 16 * r + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (unsigned n = 0; n < N / 16; ++n) {
            const unsigned right_row = 16 * n + lane / 16 * 8 + lane % 8;
            const Matrices b = load_matrices(right + place_of<D>(right_row, 2 * k + lane / 8 % 2));
#pragma unroll
            for (unsigned r = 0; r < R; ++r) {
                multiply_add(products[r][2 * n], a[r], b.of[0], b.of[1]);
                multiply_add(products[r][2 * n + 1], a[r], b.of[2], b.of[3]);
            }
        }
    }
}

// A product of 16 x 16 as a left factor.
__device__ inline Matrices packed(const float (&left)[4], const float (&right)[4]) {
    return {
        {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]), pack(right[2], right[3])}};
}

// sums += weights times the N rows of right
template <unsigned D, unsigned R, unsigned N>
__device__ void add_weighted_tile(const float (&weights)[R][N / 8][4], const Bf16* right,
                                  float (&sums)[R][D / 8][4]) {
    const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
    for (unsigned k = 0; k < N / 16; ++k) {
        Matrices a[R];
#pragma unroll
        for (unsigned r = 0; r < R; ++r) a[r] = packed(weights[r][2 * k], weights[r][2 * k + 1]);
#pragma unroll
        for (unsigned c = 0; c < D / 16; ++c) {
            const Matrices b =
                load_transposed_matrices(right + place_of<D>(16 * k + lane % 16, 2 * c + lane / 16));
#pragma unroll
            for (unsigned r = 0; r < R; ++r) {
                multiply_add(sums[r][2 * c], a[r], b.of[0], b.of[1]);
                multiply_add(sums[r][2 * c + 1], a[r], b.of[2], b.of[3]);
            }
        }
    }
}

// Writes a warp's sums, times a factor of their row, by way of its own rows of `tile`: to row `row` + r of
// `to` where that is one of `rows`. factor(r, half) is that of row 16 r + 8 half + lane / 4.
template <unsigned D, unsigned R, class Factor>
__device__ void store_tile(const float (&sums)[R][D / 8][4], Factor&& factor, Bf16* tile, unsigned row,
                           Bf16* to, std::size_t stride, unsigned rows, unsigned columns) {
    constexpr unsigned chunks = D / 8;
    const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const float own = factor(r, half);
            const unsigned in_tile = row + 16 * r + 8 * half + lane / 4;
#pragma unroll
            for (unsigned n = 0; n < chunks; ++n) {
                *reinterpret_cast<unsigned*>(tile + place_of<D>(in_tile, n) + 2 * (lane % 4)) =
                    pack(own * sums[r][n][2 * half], own * sums[r][n][2 * half + 1]);
            }
        }
    }
    __syncwarp();
    for (unsigned i = lane; i < 16 * R * chunks; i += warp_size) {
        const unsigned own = row + i / chunks;
        const unsigned chunk = i % chunks;
        if (own >= rows || 8 * chunk >= columns) continue;
        *reinterpret_cast<uint4*>(to + own * stride + 8 * chunk) =
            *reinterpret_cast<const uint4*>(tile + place_of<D>(own, chunk));
    }
}

// Calls use(t, stage) for t < count, while what load(t + 1, other stage) began to load is on its way. What the
// block began to load before comes with the first. Ends with a barrier.
template <class Load, class Use>
__device__ void use_in_turn(unsigned count, Load&& load, Use&& use) {
    if (count > 0) load(0, 0);
    commit_copies();
    for (unsigned t = 0; t < count; ++t) {
        wait_for_copies<0>();
        __syncthreads();  // t is here for all, and nobody reads t - 1 any more
        if (t + 1 < count) load(t + 1, (t + 1) % 2);
        commit_copies();
        use(t, t % 2);
    }
    wait_for_copies<0>();
    __syncthreads();
}

}  // namespace trireme::gpu
