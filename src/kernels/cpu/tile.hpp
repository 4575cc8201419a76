// A small matmul whose result, a tile, stays in registers. Larger matmuls are composed of such tiles where a
// library call would cost more than the matmul itself (blocks of attention) or where the library has no matmul
// for double.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme::kernels::cpu {

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
inline constexpr int tile_vectors = 4;  // 6 x 4 sums, 4 vectors and 1 factor: 29 of 32 registers
#else
inline constexpr std::size_t vector_bytes = 32;
inline constexpr int tile_vectors = 2;  // 6 x 2 sums, 2 vectors and 1 factor: 15 of 16 registers
#endif
inline constexpr int tile_rows = 6;

template <class T>
inline constexpr std::size_t lanes = vector_bytes / sizeof(T);  // elements per SIMD vector

constexpr std::size_t round_up(std::size_t count, std::size_t step) { return (count + step - 1) / step * step; }

template <class T>
struct VectorOf {
    typedef T Type __attribute__((vector_size(vector_bytes), aligned(alignof(T)), may_alias));
};

// A left factor whose element (i, k) is data[i * row_stride + k * depth_stride], so that a transpose needs no
// copy.
template <class T>
struct LeftFactor {
    const T* data;
    std::size_t row_stride;
    std::size_t depth_stride;
};

// A right factor or a result in row-major order, with rows padded to whole vectors.
template <class T>
struct Panel {
    T* data;
    std::size_t stride;
};

// One register tile: output (rows x vectors) = left (rows x depth) right (depth x vectors), where a vector has
// lanes<T> columns; added to the existing output if `accumulate`.
template <int rows, int vectors, class T>
inline void multiply_tile(LeftFactor<T> left, Panel<const T> right, std::size_t depth, Panel<T> output,
                          bool accumulate) {
    using Vector = typename VectorOf<T>::Type;
    Vector sums[rows][vectors] = {};
    for (std::size_t k = 0; k < depth; ++k) {
        Vector b[vectors];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; ++j) {
            b[j] = *reinterpret_cast<const Vector*>(right.data + k * right.stride +
                                                    lanes<T> * static_cast<std::size_t>(j));
        }
#pragma GCC unroll 6
        for (int i = 0; i < rows; ++i) {
            const T a = left.data[static_cast<std::size_t>(i) * left.row_stride + k * left.depth_stride];
#pragma GCC unroll 4
            for (int j = 0; j < vectors; ++j) sums[i][j] += a * b[j];
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < vectors; ++j) {
            auto* target = reinterpret_cast<Vector*>(output.data + static_cast<std::size_t>(i) * output.stride +
                                                     lanes<T> * static_cast<std::size_t>(j));
            *target = accumulate ? *target + sums[i][j] : sums[i][j];
        }
    }
}

// Multiplies `rows` rows by any number of columns, one register tile at a time. The last tile may have fewer
// vectors.
template <int rows, int vectors = tile_vectors, class T>
inline void multiply_strip(LeftFactor<T> left, Panel<const T> right, std::size_t depth, std::size_t columns,
                           Panel<T> output, bool accumulate) {
    constexpr std::size_t width = lanes<T> * static_cast<std::size_t>(vectors);
    std::size_t begin = 0;
    for (; begin + width <= round_up(columns, lanes<T>); begin += width) {
        multiply_tile<rows, vectors>(left, {right.data + begin, right.stride}, depth,
                                     {output.data + begin, output.stride}, accumulate);
    }
    if constexpr (vectors > 1) {
        if (begin < columns) {
            multiply_strip<rows, vectors - 1>(left, {right.data + begin, right.stride}, depth, columns - begin,
                                              {output.data + begin, output.stride}, accumulate);
        }
    }
}

// Multiplies at most tile_rows rows by any number of columns, which are rounded up to whole vectors.
template <int max_rows = tile_rows, class T>
inline void multiply_rows(std::size_t rows, LeftFactor<T> left, Panel<const T> right, std::size_t depth,
                          std::size_t columns, Panel<T> output, bool accumulate) {
    if constexpr (max_rows > 1) {
        if (rows < max_rows)
            return multiply_rows<max_rows - 1>(rows, left, right, depth, columns, output, accumulate);
    }
    multiply_strip<max_rows>(left, right, depth, columns, output, accumulate);
}

}  // namespace trireme::kernels::cpu
