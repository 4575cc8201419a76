// Packs the rows of one attention head into blocks, because the rows of a head are far apart in a fused
// tensor, whose rows hold the queries, keys and values of all heads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/tile.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels::cpu {

// Number of rows of a block of queries or keys. The scores of a query block and a key block, 64 x 64 floats,
// fill half an L1 cache.
inline constexpr std::size_t block_rows = 64;

// Zeroed memory that begins at a multiple of vector_bytes.
template <class T>
class Scratch {
public:
    explicit Scratch(std::size_t size) : memory_(size + vector_bytes / sizeof(T)) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        data_ = memory_.data() + (vector_bytes - address % vector_bytes) % vector_bytes / sizeof(T);
    }
    Scratch(Scratch&&) noexcept = default;  // no copy: its data_ would point into the original

    T* data() const { return data_; }

private:
    std::vector<T> memory_;
    T* data_;
};

// Number of rows between the row that is read and the row that is prefetched. The rows of a head are so far
// apart in a fused tensor that the hardware prefetcher does not follow them.
inline constexpr std::size_t prefetch_distance = 8;

// Prefetches a row into the cache, for writing if `to_write`.
template <bool to_write, class T>
inline void prefetch(const T* row, std::size_t columns) {
    for (std::size_t c = 0; c < columns; c += 64 / sizeof(T)) __builtin_prefetch(row + c, to_write ? 1 : 0);
}

// Packs the box of `rows` rows and `columns` columns of `source` that begins at (row, column):
//   target[r][c] = factor * source(row + r, column + c)
// Packed rows are padded with zeros to whole vectors.
template <class T>
void pack_rows(const device::Elements<const T>& source, std::size_t row, std::size_t rows, std::size_t column,
               std::size_t columns, T factor, T* target) {
    const std::size_t stride = round_up(columns, lanes<T>);
    for (std::size_t r = 0; r < rows; ++r) {
        const T* from = source.row(row + r) + column;
        if (r + prefetch_distance < rows) prefetch<false>(from + prefetch_distance * source.stride, columns);
        T* to = target + r * stride;
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) to[c] = factor * from[c];
        std::fill(to + columns, to + stride, T{0});
    }
}

// The inverse of pack_rows(): target(row + r, column + c) = factor * packed[r][c].
template <class T>
void unpack_rows(const T* packed, std::size_t rows, T factor, const device::Elements<T>& target,
                 std::size_t row, std::size_t column, std::size_t columns) {
    const std::size_t stride = round_up(columns, lanes<T>);
    for (std::size_t r = 0; r < rows; ++r) {
        T* to = target.row(row + r) + column;
        if (r + prefetch_distance < rows) prefetch<true>(to + prefetch_distance * target.stride, columns);
        const T* from = packed + r * stride;
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) to[c] = factor * from[c];
    }
}

// Packs the box of `source` that pack_rows() packs, transposed and in blocks of block_rows rows:
//   target[r / block_rows][c][r % block_rows] = source(row + r, column + c), with zeros beyond the last row.
template <class T>
void pack_transposed(const device::Elements<const T>& source, std::size_t row, std::size_t rows,
                     std::size_t column, std::size_t columns, T* target) {
    std::fill_n(target + rows / block_rows * block_rows * columns,
                rows % block_rows == 0 ? 0 : block_rows * columns, T{0});
    for (std::size_t r = 0; r < rows; ++r) {
        const T* from = source.row(row + r) + column;
        if (r + prefetch_distance < rows) prefetch<false>(from + prefetch_distance * source.stride, columns);
        T* to = target + r / block_rows * block_rows * columns + r % block_rows;
        for (std::size_t c = 0; c < columns; ++c) to[c * block_rows] = from[c];
    }
}

}  // namespace trireme::kernels::cpu
