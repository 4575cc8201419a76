// Tiles of bf16 in shared memory. A tile has D columns, a power of two; 8 columns are a chunk of 16 bytes. The
// chunks of a row are permuted (swizzled) by the row's index, so that chunk c of eight consecutive rows lies in
// eight different groups of four banks. The offset of the chunk that is 16 n rows and 2 k chunks further needs
// one XOR and one addition:
//
//   swizzled_offset(row + 16 n, chunk + 2 k) = (swizzled_offset(row, chunk) ^ 16 k) + 16 n D    for chunk < 2
#pragma once

#include "kernels/cuda/hardware/tensor_core.cuh"
#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned tensor_warps = 4;  // per block of threads
inline constexpr unsigned tensor_threads = tensor_warps * warp_size;

// A view of rows in global memory. The rows are aligned to 16 bytes, and `columns` is a multiple of 8. Loads
// beyond the rows or columns yield zeros.
struct ChunkRows {
    const device::Bf16* first;
    std::uint32_t stride;
    unsigned rows, columns;

    __device__ ChunkRows skip_rows(unsigned begin) const {
        return {first + std::size_t{begin} * stride, stride, rows - begin, columns};
    }
};

// Returns the offset of a chunk from the begin of a tile, in elements.
template <unsigned D>
__device__ constexpr unsigned swizzled_offset(unsigned row, unsigned chunk) {
    return row * D + (chunk ^ row % 8) * 8;
}

// Starts the asynchronous load of the first `count` rows. All threads of the block take part. Each thread loads
// several rows, but only one chunk of each row.
template <unsigned D, unsigned count>
__device__ void load_tile(const ChunkRows& from, device::Bf16* tile) {
    constexpr unsigned chunks = D / 8;
    constexpr unsigned rows_at_once = tensor_threads / chunks;
    static_assert(rows_at_once % 8 == 0 && count % rows_at_once == 0);
    const unsigned row = threadIdx.x / chunks;
    const unsigned chunk = threadIdx.x % chunks;
    // The number of rows that exist from `row` on; 0 if the chunk's column does not exist.
    const unsigned rows = row < from.rows && 8 * chunk < from.columns ? from.rows - row : 0;
    const device::Bf16* const source = from.first + std::size_t{row} * from.stride + 8 * chunk;
    device::Bf16* const to = tile + swizzled_offset<D>(row, chunk);
#pragma unroll
    for (unsigned i = 0; i < count; i += rows_at_once)
        copy_async<16>(to + i * D, source + std::size_t{i} * from.stride, i < rows);
}

// Multiplies the sums of a warp by a factor per row and stores them in `to`, which has `rows` rows. `row` is
// the warp's first row in `to` and in `tile`. The warp's rows of `tile` serve as a buffer. Rows beyond the end
// of `to` are not stored. factor(r, half) is the factor of row 16 r + 8 half + lane / 4 of the warp.
template <unsigned D, unsigned R, class Factor>
__device__ void store_tile(const float (&sums)[R][D / 8][4], Factor&& factor, device::Bf16* tile, unsigned row,
                           device::Bf16* to, std::size_t stride, unsigned rows, unsigned columns) {
    constexpr unsigned chunks = D / 8;
    const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const float row_factor = factor(r, half);
            const unsigned lane_row = row + 16 * r + 8 * half + lane / 4;
#pragma unroll
            for (unsigned n = 0; n < chunks; ++n) {
                *reinterpret_cast<unsigned*>(tile + swizzled_offset<D>(lane_row, n) + 2 * (lane % 4)) =
                    pack(row_factor * sums[r][n][2 * half], row_factor * sums[r][n][2 * half + 1]);
            }
        }
    }
    __syncwarp();
    for (unsigned i = lane; i < 16 * R * chunks; i += warp_size) {
        const unsigned tile_row = row + i / chunks;
        const unsigned chunk = i % chunks;
        if (tile_row >= rows || 8 * chunk >= columns) continue;
        *reinterpret_cast<uint4*>(to + tile_row * stride + 8 * chunk) =
            *reinterpret_cast<const uint4*>(tile + swizzled_offset<D>(tile_row, chunk));
    }
}

// Double buffering of `count` tiles: tile t is in buffer t % 2, and load(t, buffer) starts its asynchronous
// load. First calls load(0, 0). Calls begin() as soon as this load and all earlier loads of the block of
// threads are complete. Then calls use(t, buffer) for each tile t, while load(t + 1, other buffer) is in
// flight. Ends with a barrier.
template <class Load, class Begin, class Use>
__device__ void run_double_buffered(unsigned count, Load&& load, Begin&& begin, Use&& use) {
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
        __syncthreads();  // all threads have read tile t and see tile t + 1
    }
}

}  // namespace trireme::kernels::gpu
