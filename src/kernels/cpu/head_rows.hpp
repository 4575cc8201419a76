// Packs the rows of one attention head into blocks, because they are far apart in the fused tensors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/tile.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels::cpu {

inline constexpr std::size_t block_rows = 64;  // the scores of a pair of blocks fill half an L1 cache in float

// Zeroed memory that begins at a multiple of vector_bytes.
template <class T>
class Scratch {
public:
    explicit Scratch(std::size_t size) : memory_(size + vector_bytes / sizeof(T)) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        data_ = memory_.data() + (vector_bytes - address % vector_bytes) % vector_bytes / sizeof(T);
    }
    Scratch(Scratch&&) noexcept = default;  // a copy's data_ would point into the memory of the original

    T* data() const { return data_; }

private:
    std::vector<T> memory_;
    T* data_;
};

// Prefetch distance in rows. The rows of a head are a whole fused row apart, which the hardware prefetcher does
// not follow.
inline constexpr std::size_t rows_ahead = 8;

// Prefetches a row.
template <bool to_write, class T>
inline void call_up(const T* row, std::size_t columns) {
    for (std::size_t c = 0; c < columns; c += 64 / sizeof(T)) __builtin_prefetch(row + c, to_write ? 1 : 0);
}

// target = factor * (`columns` columns of `rows` rows of source). Packed rows are padded with zeros to whole
// vectors.
template <class T>
void pack_rows(const device::Elements<const T>& source, std::size_t row, std::size_t rows, std::size_t column,
               std::size_t columns, T factor, T* target) {
    const std::size_t stride = round_up(columns, lanes<T>);
    for (std::size_t r = 0; r < rows; ++r) {
        const T* from = source.row(row + r) + column;
        if (r + rows_ahead < rows) call_up<false>(from + rows_ahead * source.stride, columns);
        T* to = target + r * stride;
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) to[c] = factor * from[c];
        std::fill(to + columns, to + stride, T{0});
    }
}

// The inverse of pack_rows(): `columns` columns of `rows` rows of target = factor * packed.
template <class T>
void unpack_rows(const T* packed, std::size_t rows, T factor, const device::Elements<T>& target,
                 std::size_t row, std::size_t column, std::size_t columns) {
    const std::size_t stride = round_up(columns, lanes<T>);
    for (std::size_t r = 0; r < rows; ++r) {
        T* to = target.row(row + r) + column;
        if (r + rows_ahead < rows) call_up<true>(to + rows_ahead * target.stride, columns);
        const T* from = packed + r * stride;
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) to[c] = factor * from[c];
    }
}

// Packs the rows transposed, in blocks of block_rows rows. Channel c of row r is stored at
//   target[r / block_rows][c][r % block_rows], with zeros beyond the last row.
template <class T>
void pack_transposed(const device::Elements<const T>& source, std::size_t row, std::size_t rows,
                     std::size_t column, std::size_t columns, T* target) {
    std::fill_n(target + rows / block_rows * block_rows * columns,
                rows % block_rows == 0 ? 0 : block_rows * columns, T{0});
    for (std::size_t r = 0; r < rows; ++r) {
        const T* from = source.row(row + r) + column;
        if (r + rows_ahead < rows) call_up<false>(from + rows_ahead * source.stride, columns);
        T* to = target + r / block_rows * block_rows * columns + r % block_rows;
        for (std::size_t c = 0; c < columns; ++c) to[c * block_rows] = from[c];
    }
}

}  // namespace trireme::kernels::cpu
