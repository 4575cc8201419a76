// Matmuls of tiles for attention kernels without tensor cores. A block has 16 x 16 threads. Thread (x, y)
// computes 4 x 4 of the 64 x 64 sums of a tile. Shared memory has slices of 32 elements of the inner dimension.
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned tile_side = 64;  // rows and columns of a tile
inline constexpr unsigned tile_threads = 256;
inline constexpr unsigned slice_depth = 32;             // terms of each sum in a slice
inline constexpr unsigned padded_side = tile_side + 4;  // fewer bank conflicts, still aligned to 16 bytes
inline constexpr unsigned slice_elements = slice_depth * padded_side;
inline constexpr unsigned weight_elements = tile_side * padded_side;
inline constexpr unsigned block_elements = 2 * slice_elements + weight_elements;  // in a block's shared memory

// A view of the rows of a tile. at() returns 0 beyond the rows or columns of the view.
template <class T>
struct TileRows {
    const T* first;
    std::size_t stride;
    unsigned rows, columns;

    __device__ Accumulator<T> at(unsigned r, unsigned c) const {
        return r < rows && c < columns ? static_cast<Accumulator<T>>(first[r * stride + c]) : Accumulator<T>{0};
    }
    // Returns at most `count` columns from `begin` on.
    __device__ TileRows column_range(unsigned begin, unsigned count) const {
        const unsigned remaining = columns - begin;
        return {first + begin, stride, rows, remaining < count ? remaining : count};
    }
};

template <class W>
struct alignas(16) Four {
    W values[4];
};

template <class W>
__device__ const Four<W>& load_four(const W* address) {
    return *reinterpret_cast<const Four<W>*>(address);
}

// slice[c][r] = from(r, begin + c)
template <class T>
__device__ void load_transposed(const TileRows<T>& from, unsigned begin, Accumulator<T>* slice) {
    const unsigned c = threadIdx.x % slice_depth;
    for (unsigned r = threadIdx.x / slice_depth; r < tile_side; r += tile_threads / slice_depth) {
        slice[c * padded_side + r] = from.at(r, begin + c);
    }
}

// dot_products[i][j] += left row (4 y + i) . right row (4 x + j), for thread (x, y)
template <class T>
__device__ void multiply_rows(const TileRows<T>& left, const TileRows<T>& right, Accumulator<T>* slices,
                              Accumulator<T> (&dot_products)[4][4]) {
    using W = Accumulator<T>;
    const unsigned x = threadIdx.x % 16;
    const unsigned y = threadIdx.x / 16;
    for (unsigned begin = 0; begin < left.columns; begin += slice_depth) {
        __syncthreads();  // all threads have read the previous slices
        load_transposed(left, begin, slices);
        load_transposed(right, begin, slices + slice_elements);
        __syncthreads();
        const unsigned depth = left.columns - begin < slice_depth ? left.columns - begin : slice_depth;
        for (unsigned k = 0; k < depth; ++k) {
            const Four<W> a = load_four(slices + k * padded_side + 4 * y);
            const Four<W> b = load_four(slices + slice_elements + k * padded_side + 4 * x);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
#pragma unroll
                for (unsigned j = 0; j < 4; ++j) dot_products[i][j] += a.values[i] * b.values[j];
        }
    }
}

// Stores the weights of a thread as weights[column][row] for add_weighted().
template <class W>
__device__ void store_weights(const W (&thread_weights)[4][4], W* weights) {
    const unsigned x = threadIdx.x % 16;
    const unsigned y = threadIdx.x / 16;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
        *reinterpret_cast<Four<W>*>(weights + (4 * x + j) * padded_side + 4 * y) = {
            thread_weights[0][j], thread_weights[1][j], thread_weights[2][j], thread_weights[3][j]};
    }
}

// sums[i][4 v + j] += sum over k of weight(4 y + i, k) right(k, 64 v + 4 x + j), for thread (x, y) and
// v < `vectors`. Begins with a barrier, so that the caller needs none after store_weights().
template <class T, unsigned vectors>
__device__ void add_weighted(const Accumulator<T>* weights, const TileRows<T>& right, Accumulator<T>* slices,
                             Accumulator<T> (&sums)[4][4 * vectors]) {
    using W = Accumulator<T>;
    constexpr unsigned columns = vectors * tile_side;
    static_assert(slice_depth * columns <= 2 * slice_elements);
    const unsigned x = threadIdx.x % 16;
    const unsigned y = threadIdx.x / 16;
    for (unsigned begin = 0; begin < right.rows; begin += slice_depth) {
        __syncthreads();
        for (unsigned i = threadIdx.x; i < slice_depth * columns; i += tile_threads)
            slices[i] = right.at(begin + i / columns, i % columns);
        __syncthreads();
        const unsigned depth = right.rows - begin < slice_depth ? right.rows - begin : slice_depth;
        for (unsigned k = 0; k < depth; ++k) {
            const Four<W> a = load_four(weights + (begin + k) * padded_side + 4 * y);
#pragma unroll
            for (unsigned v = 0; v < vectors; ++v) {
                const Four<W> b = load_four(slices + k * columns + v * tile_side + 4 * x);
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
#pragma unroll
                    for (unsigned j = 0; j < 4; ++j) sums[i][4 * v + j] += a.values[i] * b.values[j];
            }
        }
    }
}

// Stores a thread's sums from add_weighted(); row(r) is the address of row r of the result.
template <class T, unsigned vectors, class Row>
__device__ void store_sums(const Accumulator<T> (&sums)[4][4 * vectors], unsigned rows, unsigned columns,
                           Row&& row) {
    const unsigned x = threadIdx.x % 16;
    const unsigned y = threadIdx.x / 16;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        if (4 * y + i >= rows) continue;
        T* const to = row(4 * y + i);
#pragma unroll
        for (unsigned v = 0; v < vectors; ++v) {
#pragma unroll
            for (unsigned j = 0; j < 4; ++j) {
                const unsigned c = v * tile_side + 4 * x + j;
                if (c < columns) to[c] = static_cast<T>(sums[i][4 * v + j]);
            }
        }
    }
}

// Returns a grid with one block per tile and head, or several blocks if a head has more columns than the
// vectors * tile_side columns of a block. `tiles` is the number of tiles of all heads.
template <class W, unsigned vectors>
device::GpuGrid make_plain_grid(std::size_t tiles, std::size_t head_size) {
    return {.blocks_x = static_cast<unsigned>(tiles),
            .blocks_y = static_cast<unsigned>(divide_round_up(head_size, vectors * tile_side)),
            .threads = tile_threads,
            .shared_bytes = block_elements * sizeof(W)};
}

}  // namespace trireme::kernels::gpu
