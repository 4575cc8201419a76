// Passes of a block of threads over a row of logits, which may hold only this rank's columns of the vocabulary.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cuda/support/row_vectors.cuh"
#include "kernels/cuda/support/sums.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned max_row_threads = 1024;
inline constexpr unsigned no_column = 0xFFFFFFFFU;

// Returns a grid with one block per row. Long rows have large blocks, which limits the number of rows in
// progress, so that a row stays in the L2 cache until it is read again for gradients.
inline device::GpuGrid make_logit_grid(std::size_t rows, std::size_t columns) {
    constexpr std::size_t long_row = 8192;
    return {.blocks_x = count_blocks(rows, 1), .threads = columns < long_row ? 256 : max_row_threads};
}

__device__ inline float quick_exp(float x) { return __expf(x); }
__device__ inline double quick_exp(double x) { return std::exp(x); }

// Returns the target's column among the rank's columns; no_column if the rank does not hold it.
__device__ inline unsigned find_target_column(std::int32_t target, std::size_t first_column,
                                              std::size_t columns) {
    const std::size_t target_column = static_cast<std::size_t>(target) - first_column;
    return target_column < columns ? static_cast<unsigned>(target_column) : no_column;
}

// Statistics of some columns of a row. The fields have no default values, because variables in shared memory
// cannot have any.
template <class W>
struct LogitSums {
    W largest;        // never -infinity, so that differences from it are never NaN
    W exp_sum;        // sum of exp(logit - largest)
    W distance_sum;   // sum of (logit - pivot): keeps precision if all logits are large, see choose_pivot()
    unsigned argmax;  // first column of the largest logit
};

template <class W>
__device__ LogitSums<W> make_empty_sums() {
    return {std::numeric_limits<W>::lowest(), 0, 0, no_column};
}

// Adds a vector of logits, from `column` on, to the statistics. A NaN is never the largest logit, but it makes
// the sums NaN.
template <class T, unsigned width>
__device__ void add(LogitSums<Accumulator<T>>& sums, unsigned column, const Vector<T, width>& x,
                    Accumulator<T> pivot) {
    Accumulator<T> largest = sums.largest;
    for (unsigned i = 0; i < width; ++i) largest = std::fmax(largest, x[i]);
    if (largest > sums.largest) {
        sums.exp_sum *= quick_exp(sums.largest - largest);
        sums.largest = largest;
        for (unsigned i = width; i-- > 0;)
            if (x[i] == largest) sums.argmax = column + i;
    }
    for (unsigned i = 0; i < width; ++i) {
        sums.exp_sum += quick_exp(x[i] - largest);
        sums.distance_sum += x[i] - pivot;
    }
}

// Merges the statistics of two sets of columns. The result is bitwise the same if a and b are exchanged, so
// all lanes that merge each other's statistics get the same result.
template <class W>
__device__ LogitSums<W> merge_sums(const LogitSums<W>& a, const LogitSums<W>& b) {
    const bool is_a_larger = a.largest > b.largest;
    const W largest = is_a_larger ? a.largest : b.largest;
    const W whole_sum = is_a_larger ? a.exp_sum : b.exp_sum;
    const W scaled_sum = is_a_larger ? b.exp_sum : a.exp_sum;
    const W distance = is_a_larger ? b.largest - a.largest : a.largest - b.largest;
    const unsigned first = a.argmax < b.argmax ? a.argmax : b.argmax;
    const unsigned argmax = is_a_larger ? a.argmax : b.argmax;
    return {.largest = largest,
            .exp_sum = whole_sum + scaled_sum * quick_exp(distance),
            .distance_sum = a.distance_sum + b.distance_sum,
            .argmax = a.largest == b.largest ? first : argmax};
}

template <class W>
__device__ LogitSums<W> shuffle_xor(const LogitSums<W>& sums, int distance) {
    return {shuffle_xor(sums.largest, distance), shuffle_xor(sums.exp_sum, distance),
            shuffle_xor(sums.distance_sum, distance), shuffle_xor(sums.argmax, distance)};
}

// Returns the pivot of LogitSums::distance_sum: the first logit if it is finite, else 0.
template <class T>
__device__ Accumulator<T> choose_pivot(const T* row) {
    const auto first = static_cast<Accumulator<T>>(row[0]);
    return std::isfinite(first) ? first : 0;
}

// Returns the statistics of a row to every thread of the block. After the call, any thread may overwrite the
// row.
template <class T>
__device__ LogitSums<Accumulator<T>> compute_row_sums(const T* row, unsigned columns, Accumulator<T> pivot) {
    using W = Accumulator<T>;
    LogitSums<W> own_sums = make_empty_sums<W>();
    for_each_row_vector(row, columns, [&]<unsigned width>(Width<width>, unsigned column) {
        add(own_sums, column, load<width>(row + column), pivot);
    });
    const auto combine = [](const LogitSums<W>& a, const LogitSums<W>& b) { return merge_sums(a, b); };
    LogitSums<W> row_sums = reduce_block(own_sums, combine, make_empty_sums<W>());
    if (row_sums.argmax == no_column) row_sums.argmax = 0;  // all logits are NaN or -infinity
    return row_sums;
}

// The gradient of a row of logits:
//   row[c] = factor * exp(row[c] - shift - shift_rest) - smoothing_term - (target_term in the target's column)
// The exact shift is shift + shift_rest: `shift` is rounded to W, and `shift_rest` is the rounding error.
template <class W>
struct RowGradient {
    W shift;
    W shift_rest;
    W factor;
    W smoothing_term;
    W target_term;
};

// Overwrites a row of logits with its gradient. `target` is the target's column, or no_column.
template <class T>
__device__ void write_gradient(T* row, unsigned columns, unsigned target,
                               const RowGradient<Accumulator<T>>& g) {
    for_each_row_vector(row, columns, [&]<unsigned width>(Width<width>, unsigned column) {
        Vector<T, width> x = load<width, T>(row + column);
        for (unsigned i = 0; i < width; ++i) {
            const auto subtrahend = g.smoothing_term + (column + i == target ? g.target_term : 0);
            x.set(i, g.factor * quick_exp(x[i] - g.shift - g.shift_rest) - subtrahend);
        }
        store(row + column, x);
    });
}

template <class T>
__device__ void write_zeros(T* row, unsigned columns) {
    for_each_row_vector(row, columns, [&]<unsigned width>(Width<width>, unsigned column) {
        Vector<T, width> zeros;
        for (unsigned i = 0; i < width; ++i) zeros.set(i, 0);
        store(row + column, zeros);
    });
}

}  // namespace trireme::kernels::gpu
