// Passes of a block over a row of logits, for a whole vocabulary or a part of it.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cuda/support/row_vectors.cuh"
#include "kernels/cuda/support/sums.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned most_row_threads = 1024;
inline constexpr unsigned no_column = 0xFFFFFFFFU;

// Returns a grid with one block per row. Large blocks for long rows limit the rows in progress, so that they
// stay in the L2 cache until they are read again for gradients.
inline device::GpuGrid block_a_row_of_logits(std::size_t rows, std::size_t columns) {
    constexpr std::size_t long_row = 8192;
    return {.blocks_x = blocks_for(rows, 1), .threads = columns < long_row ? 256 : most_row_threads};
}

__device__ inline float quick_exp(float x) { return __expf(x); }
__device__ inline double quick_exp(double x) { return std::exp(x); }

// Returns the target's column in the rank's part; no_column if the part does not hold it.
__device__ inline unsigned column_of(std::int32_t target, std::size_t first_column, std::size_t columns) {
    const std::size_t place = static_cast<std::size_t>(target) - first_column;
    return place < columns ? static_cast<unsigned>(place) : no_column;
}

// Statistics of some columns of a row. It has no default values, because it is used in shared memory.
template <class W>
struct LogitSums {
    W largest;        // never -infinity, so that differences from it are never NaN
    W exp_sum;        // sum of exp(logit - largest)
    W distances;      // sum of logit - pivot, which keeps precision if all logits are large
    unsigned choice;  // first column of the largest logit
};

template <class W>
__device__ LogitSums<W> sums_of_nothing() {
    return {std::numeric_limits<W>::lowest(), 0, 0, no_column};
}

// Adds a vector to the statistics. A NaN is never the largest logit but makes the sums NaN.
template <class T, unsigned width>
__device__ void add(LogitSums<Wide<T>>& sums, unsigned column, const Vector<T, width>& x, Wide<T> pivot) {
    Wide<T> largest = sums.largest;
    for (unsigned i = 0; i < width; ++i) largest = std::fmax(largest, x[i]);
    if (largest > sums.largest) {
        sums.exp_sum *= quick_exp(sums.largest - largest);
        sums.largest = largest;
        for (unsigned i = width; i-- > 0;)
            if (x[i] == largest) sums.choice = column + i;
    }
    for (unsigned i = 0; i < width; ++i) {
        sums.exp_sum += quick_exp(x[i] - largest);
        sums.distances += x[i] - pivot;
    }
}

// Merges two statistics; bitwise symmetric in a and b.
template <class W>
__device__ LogitSums<W> joined(const LogitSums<W>& a, const LogitSums<W>& b) {
    const bool is_a_larger = a.largest > b.largest;
    const W largest = is_a_larger ? a.largest : b.largest;
    const W whole_sum = is_a_larger ? a.exp_sum : b.exp_sum;
    const W scaled_sum = is_a_larger ? b.exp_sum : a.exp_sum;
    const W distance = is_a_larger ? b.largest - a.largest : a.largest - b.largest;
    const unsigned first = a.choice < b.choice ? a.choice : b.choice;
    const unsigned choice = is_a_larger ? a.choice : b.choice;
    return {.largest = largest,
            .exp_sum = whole_sum + scaled_sum * quick_exp(distance),
            .distances = a.distances + b.distances,
            .choice = a.largest == b.largest ? first : choice};
}

template <class W>
__device__ LogitSums<W> exchanged(const LogitSums<W>& sums, int distance) {
    return {exchanged(sums.largest, distance), exchanged(sums.exp_sum, distance),
            exchanged(sums.distances, distance), exchanged(sums.choice, distance)};
}

// Returns the pivot of LogitSums::distances: the first logit if it is finite, else 0.
template <class T>
__device__ Wide<T> pivot_of(const T* row) {
    const auto first = static_cast<Wide<T>>(row[0]);
    return std::isfinite(first) ? first : 0;
}

// Returns the statistics of a row to every thread of the block. The row may be overwritten afterwards.
template <class T>
__device__ LogitSums<Wide<T>> sums_of_row(const T* row, unsigned columns, Wide<T> pivot) {
    using W = Wide<T>;
    LogitSums<W> own = sums_of_nothing<W>();
    share_row(row, columns, [&]<unsigned width>(Width<width>, unsigned column) {
        add(own, column, load<width>(row + column), pivot);
    });
    const auto join = [](const LogitSums<W>& a, const LogitSums<W>& b) { return joined(a, b); };
    LogitSums<W> all = of_block(own, join, sums_of_nothing<W>());
    if (all.choice == no_column) all.choice = 0;
    return all;
}

// row[c] = factor * exp(row[c] - shift - rest) - everyone; in the target's column also minus `right`
template <class W>
struct RowGradient {
    W shift;
    W rest;
    W factor;
    W everyone;
    W right;
};

template <class T>
__device__ void write_gradient(T* row, unsigned columns, unsigned target, const RowGradient<Wide<T>>& g) {
    share_row(row, columns, [&]<unsigned width>(Width<width>, unsigned column) {
        Vector<T, width> x = load<width, T>(row + column);
        for (unsigned i = 0; i < width; ++i) {
            const auto share = g.everyone + (column + i == target ? g.right : 0);
            x.set(i, g.factor * quick_exp(x[i] - g.shift - g.rest) - share);
        }
        store(row + column, x);
    });
}

template <class T>
__device__ void write_zeros(T* row, unsigned columns) {
    share_row(row, columns, [&]<unsigned width>(Width<width>, unsigned column) {
        Vector<T, width> zeros;
        for (unsigned i = 0; i < width; ++i) zeros.set(i, 0);
        store(row + column, zeros);
    });
}

}  // namespace trireme::kernels::gpu
