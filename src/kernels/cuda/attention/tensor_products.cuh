// Matmuls of tiles on tensor cores. A warp has 16 R rows of a result, in the layout that
// hardware/tensor_core.cuh shows.
#pragma once

#include "kernels/cuda/attention/tensor_tiles.cuh"

namespace trireme::kernels::gpu {

__device__ inline unsigned own_lane() { return threadIdx.x % warp_size; }

// Returns the offset of the row that a lane passes to load_matrices() for 16 x 16 elements of a left factor. It
// also serves load_transposed_matrices() for the right factor of add_weighted_tile().
template <unsigned D>
__device__ constexpr unsigned left_place(unsigned row, unsigned lane) {
    return swizzled_offset<D>(row + lane % 16, lane / 16);
}

// Returns the offset of the row that a lane passes to load_matrices() for a right factor that is used
// transposed.
template <unsigned D>
__device__ constexpr unsigned right_place(unsigned lane) {
    return swizzled_offset<D>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
}

// A warp's rows of a left factor, loaded from shared memory at each use.
template <unsigned D>
struct LeftInTile {
    const device::Bf16* tile;
    unsigned place;

    __device__ LeftInTile(const device::Bf16* rows, unsigned row)
        : tile(rows), place(left_place<D>(row, own_lane())) {}
    __device__ void load() {}
    __device__ Matrices operator()(unsigned r, unsigned k) const {
        return load_matrices(tile + (place ^ 16 * k) + 16 * r * D);
    }
};

// A warp's rows of a left factor, loaded into registers once; for resident tiles if there are enough registers.
template <unsigned D, unsigned R>
struct LeftInRegisters {
    LeftInTile<D> from;
    Matrices of[R][D / 16];

    __device__ LeftInRegisters(const device::Bf16* rows, unsigned row) : from(rows, row) {}
    __device__ void load() {
#pragma unroll
        for (unsigned r = 0; r < R; ++r)
#pragma unroll
            for (unsigned k = 0; k < D / 16; ++k) of[r][k] = from(r, k);
    }
    __device__ const Matrices& operator()(unsigned r, unsigned k) const { return of[r][k]; }
};

// products += left (16 R rows) right^T (right has N rows)
template <unsigned D, unsigned R, unsigned N, class Left>
__device__ void multiply_tiles(const Left& left, const device::Bf16* right, float (&products)[R][N / 8][4]) {
    const unsigned place = right_place<D>(own_lane());
#pragma unroll
    for (unsigned k = 0; k < D / 16; ++k) {
        Matrices a[R];
#pragma unroll
        for (unsigned r = 0; r < R; ++r) a[r] = left(r, k);
#pragma unroll
        for (unsigned n = 0; n < N / 16; ++n) {
            const Matrices b = load_matrices(right + (place ^ 16 * k) + 16 * n * D);
#pragma unroll
            for (unsigned r = 0; r < R; ++r) {
                multiply_add(products[r][2 * n], a[r], b.of[0], b.of[1]);
                multiply_add(products[r][2 * n + 1], a[r], b.of[2], b.of[3]);
            }
        }
    }
}

// Converts 16 x 16 sums to a left factor in bf16.
__device__ inline Matrices packed(const float (&left)[4], const float (&right)[4]) {
    return {
        {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]), pack(right[2], right[3])}};
}

// sums += weights right (right has N rows)
template <unsigned D, unsigned R, unsigned N>
__device__ void add_weighted_tile(const float (&weights)[R][N / 8][4], const device::Bf16* right,
                                  float (&sums)[R][D / 8][4]) {
    const unsigned place = left_place<D>(0, own_lane());
#pragma unroll
    for (unsigned k = 0; k < N / 16; ++k) {
        Matrices a[R];
#pragma unroll
        for (unsigned r = 0; r < R; ++r) a[r] = packed(weights[r][2 * k], weights[r][2 * k + 1]);
#pragma unroll
        for (unsigned c = 0; c < D / 16; ++c) {
            const Matrices b = load_transposed_matrices(right + (place ^ 16 * c) + 16 * k * D);
#pragma unroll
            for (unsigned r = 0; r < R; ++r) {
                multiply_add(sums[r][2 * c], a[r], b.of[0], b.of[1]);
                multiply_add(sums[r][2 * c + 1], a[r], b.of[2], b.of[3]);
            }
        }
    }
}

}  // namespace trireme::kernels::gpu
