// Matmuls of tiles on tensor cores. A warp computes R row tiles (16 rows each) of a result, in the register
// layout that hardware/tensor_core.cuh shows. D is the number of columns of a tile in shared memory.
#pragma once

#include "kernels/cuda/attention/tensor_tiles.cuh"

namespace trireme::kernels::gpu {

__device__ inline unsigned lane_index() { return threadIdx.x % warp_size; }

// Returns the offset that a lane adds to the address of a tile before it calls load_matrices(). The call then
// loads 16 x 16 elements of a left factor: 16 rows from `row` on, columns 0 to 15. add_weighted_tile() uses the
// same offset in load_transposed_matrices() for its right factor.
template <unsigned D>
__device__ constexpr unsigned left_offset(unsigned row, unsigned lane) {
    return swizzled_offset<D>(row + lane % 16, lane / 16);
}

// The counterpart of left_offset() for rows 0 to 15 of the right factor of multiply_tiles(), which multiplies
// by the transpose of this factor.
template <unsigned D>
__device__ constexpr unsigned right_offset(unsigned lane) {
    return swizzled_offset<D>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
}

// A warp's rows of a left factor, loaded from shared memory at each use. The call operator returns 16 x 16
// elements: row tile r, columns 16 k to 16 k + 15.
template <unsigned D>
struct LeftInTile {
    const device::Bf16* tile;
    unsigned offset;

    __device__ LeftInTile(const device::Bf16* rows, unsigned row)
        : tile(rows), offset(left_offset<D>(row, lane_index())) {}
    __device__ void load() {}  // nothing to load in advance
    __device__ Matrices operator()(unsigned r, unsigned k) const {
        return load_matrices(tile + (offset ^ 16 * k) + 16 * r * D);
    }
};

// A warp's rows of a left factor, loaded into registers once. This is faster than LeftInTile if there are
// enough registers.
template <unsigned D, unsigned R>
struct LeftInRegisters {
    LeftInTile<D> shared_rows;
    Matrices matrices[R][D / 16];

    __device__ LeftInRegisters(const device::Bf16* rows, unsigned row) : shared_rows(rows, row) {}
    __device__ void load() {
#pragma unroll
        for (unsigned r = 0; r < R; ++r)
#pragma unroll
            for (unsigned k = 0; k < D / 16; ++k) matrices[r][k] = shared_rows(r, k);
    }
    __device__ const Matrices& operator()(unsigned r, unsigned k) const { return matrices[r][k]; }
};

// dot_products += left (16 R rows) right^T (right has N rows)
template <unsigned D, unsigned R, unsigned N, class Left>
__device__ void multiply_tiles(const Left& left, const device::Bf16* right,
                               float (&dot_products)[R][N / 8][4]) {
    const unsigned offset = right_offset<D>(lane_index());
#pragma unroll
    for (unsigned k = 0; k < D / 16; ++k) {
        Matrices a[R];
#pragma unroll
        for (unsigned r = 0; r < R; ++r) a[r] = left(r, k);
#pragma unroll
        for (unsigned n = 0; n < N / 16; ++n) {
            const Matrices b = load_matrices(right + (offset ^ 16 * k) + 16 * n * D);
#pragma unroll
            for (unsigned r = 0; r < R; ++r) {
                multiply_add(dot_products[r][2 * n], a[r], b.registers[0], b.registers[1]);
                multiply_add(dot_products[r][2 * n + 1], a[r], b.registers[2], b.registers[3]);
            }
        }
    }
}

// Converts 16 x 16 sums, two adjacent tiles of 16 x 8, to a left factor in bf16.
__device__ inline Matrices pack_left_factor(const float (&left)[4], const float (&right)[4]) {
    return {
        {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]), pack(right[2], right[3])}};
}

// sums += weights right. The weights, 16 R rows of N columns, are in registers in the layout of sums; `right`
// has N rows.
template <unsigned D, unsigned R, unsigned N>
__device__ void add_weighted_tile(const float (&weights)[R][N / 8][4], const device::Bf16* right,
                                  float (&sums)[R][D / 8][4]) {
    const unsigned offset = left_offset<D>(0, lane_index());
#pragma unroll
    for (unsigned k = 0; k < N / 16; ++k) {
        Matrices a[R];
#pragma unroll
        for (unsigned r = 0; r < R; ++r) a[r] = pack_left_factor(weights[r][2 * k], weights[r][2 * k + 1]);
#pragma unroll
        for (unsigned c = 0; c < D / 16; ++c) {
            const Matrices b = load_transposed_matrices(right + (offset ^ 16 * c) + 16 * k * D);
#pragma unroll
            for (unsigned r = 0; r < R; ++r) {
                multiply_add(sums[r][2 * c], a[r], b.registers[0], b.registers[1]);
                multiply_add(sums[r][2 * c + 1], a[r], b.registers[2], b.registers[3]);
            }
        }
    }
}

}  // namespace trireme::kernels::gpu
