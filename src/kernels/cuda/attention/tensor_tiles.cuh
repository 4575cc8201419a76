// Tiles of bf16 in shared memory. A tile has `D` columns, a power of two; 8 columns are a chunk of 16 bytes.
// The chunks of a row are permuted (swizzled) by the row number, so that the same chunk of eight rows lies in
// different banks. The offset of 16 n rows and 2 k chunks further needs one XOR and one addition:
//
//   swizzled_offset(row + 16 n, chunk + 2 k) = (swizzled_offset(row, chunk) ^ 16 k) + 16 n D    for chunk < 2
#pragma once

#include "kernels/cuda/hardware/tensor_core.cuh"
#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned tensor_warps = 4;
inline constexpr unsigned tensor_threads = tensor_warps * warp_size;

// Rows in global memory, aligned to 16 bytes. Loads beyond them yield zeros. `columns` is a multiple of 8.
struct ChunkRows {
    const device::Bf16* first;
    std::uint32_t stride;
    unsigned rows, columns;

    __device__ ChunkRows from(unsigned begin) const {
        return {first + std::size_t{begin} * stride, stride, rows - begin, columns};
    }
};

template <unsigned D>
__device__ constexpr unsigned swizzled_offset(unsigned row, unsigned chunk) {
    return row * D + (chunk ^ row % 8) * 8;
}

// Starts the asynchronous load of the first `count` rows. All threads of the block take part; a thread loads
// the same chunk of several rows.
template <unsigned D, unsigned count>
__device__ void load_tile(const ChunkRows& from, device::Bf16* tile) {
    constexpr unsigned chunks = D / 8;
    constexpr unsigned rows_at_once = tensor_threads / chunks;
    static_assert(rows_at_once % 8 == 0 && count % rows_at_once == 0);
    const unsigned row = threadIdx.x / chunks;
    const unsigned chunk = threadIdx.x % chunks;
    const unsigned rows = row < from.rows && 8 * chunk < from.columns ? from.rows - row : 0;
    const device::Bf16* const place = from.first + std::size_t{row} * from.stride + 8 * chunk;
    device::Bf16* const to = tile + swizzled_offset<D>(row, chunk);
#pragma unroll
    for (unsigned i = 0; i < count; i += rows_at_once)
        copy_async<16>(to + i * D, place + std::size_t{i} * from.stride, i < rows);
}

// Multiplies a warp's sums by a factor per row and stores them, through the warp's own rows of `tile`, in rows
// `row` + r of `to` that are below `rows`. factor(r, half) is the factor of row 16 r + 8 half + lane / 4.
template <unsigned D, unsigned R, class Factor>
__device__ void store_tile(const float (&sums)[R][D / 8][4], Factor&& factor, device::Bf16* tile, unsigned row,
                           device::Bf16* to, std::size_t stride, unsigned rows, unsigned columns) {
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
                *reinterpret_cast<unsigned*>(tile + swizzled_offset<D>(in_tile, n) + 2 * (lane % 4)) =
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
            *reinterpret_cast<const uint4*>(tile + swizzled_offset<D>(own, chunk));
    }
}

// Double buffering: calls begin() when load(0, 0) and all loads that the block started before are complete.
// Then calls use(t, stage) for t < count while load(t + 1, other stage) is in flight. Ends with a barrier.
template <class Load, class Begin, class Use>
__device__ void use_in_turn(unsigned count, Load&& load, Begin&& begin, Use&& use) {
    if (count > 0) load(0, 0);
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    begin();
    for (unsigned t = 0; t < count; ++t) {
        if (t + 1 < count) load(t + 1, (t + 1) % 2);
        commit_copies();
        use(t, t % 2);
        wait_for_copies<0>();
        __syncthreads();  // tile t + 1 is loaded for all threads, and all have read tile t
    }
}

}  // namespace trireme::kernels::gpu
