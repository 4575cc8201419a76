// Passes of a block over a row of logits, for a whole vocabulary and for a part of one.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cuda/row_packs.cuh"
#include "kernels/cuda/sums.cuh"

namespace trireme::gpu {

inline constexpr unsigned most_row_threads = 1024;
inline constexpr unsigned no_column = 0xFFFFFFFFU;

// Few long rows at a time stay in the second-level cache until they are read again, for gradients.
inline GpuGrid block_a_row_of_logits(std::size_t rows, std::size_t columns) {
    constexpr std::size_t long_row = 8192;
    return {.blocks_x = static_cast<unsigned>(rows), .threads = columns < long_row ? 256 : most_row_threads};
}

__device__ inline float quick_exp(float x) { return __expf(x); }
__device__ inline double quick_exp(double x) { return std::exp(x); }

// Which of a part's columns the target is; no_column if the part has not got it.
__device__ inline unsigned place_of(std::int32_t target, std::size_t first_column, std::size_t columns) {
    const std::size_t place = static_cast<std::size_t>(target) - first_column;
    return place < columns ? static_cast<unsigned>(place) : no_column;
}

// What is known of some of a row's columns. No default values: it lies in shared memory.
template <class W>
struct LogitSums {
    W largest;        // never -infinity: a difference from it is a number
    W exp_sum;        // of exp(logit - largest)
    W distances;      // sum of logit - pivot: of small numbers where all logits are large
    unsigned choice;  // first column of the largest logit
};

template <class W>
__device__ LogitSums<W> sums_of_nothing() {
    return {std::numeric_limits<W>::lowest(), 0, 0, no_column};
}

// NaNs are never the largest, and show in the sums.
template <class W, unsigned count>
__device__ void add(LogitSums<W>& sums, unsigned column, const Pack<W, count>& x, W pivot) {
    W largest = sums.largest;
    for (unsigned i = 0; i < count; ++i) largest = std::fmax(largest, x.of[i]);
    if (largest > sums.largest) {
        sums.exp_sum *= quick_exp(sums.largest - largest);
        sums.largest = largest;
        for (unsigned i = count; i-- > 0;)
            if (x.of[i] == largest) sums.choice = column + i;
    }
    for (unsigned i = 0; i < count; ++i) {
        sums.exp_sum += quick_exp(x.of[i] - largest);
        sums.distances += x.of[i] - pivot;
    }
}

// Of both; the same bits whichever comes first.
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
__device__ LogitSums<W> warp_joined(LogitSums<W> sums) {
    for (int distance = 16; distance > 0; distance /= 2) {
        sums = joined(sums, LogitSums<W>{__shfl_xor_sync(all_lanes, sums.largest, distance),
                                         __shfl_xor_sync(all_lanes, sums.exp_sum, distance),
                                         __shfl_xor_sync(all_lanes, sums.distances, distance),
                                         __shfl_xor_sync(all_lanes, sums.choice, distance)});
    }
    return sums;
}

// What distances are taken from.
template <class T>
__device__ Wide<T> pivot_of(const T* row) {
    const auto first = static_cast<Wide<T>>(row[0]);
    return std::isfinite(first) ? first : 0;
}

// Every thread of the block learns it. Whoever rewrites the row may do so from here on.
template <class T>
__device__ LogitSums<Wide<T>> sums_of_row(const T* row, unsigned columns, Wide<T> pivot) {
    using W = Wide<T>;
    LogitSums<W> own = sums_of_nothing<W>();
    for_each_pack(row, columns, [&]<unsigned count>(Count<count>, unsigned column) {
        const Pack<T, count> logits = load_pack<count>(row + column);
        Pack<W, count> x;
        for (unsigned i = 0; i < count; ++i) x.of[i] = static_cast<W>(logits.of[i]);
        add(own, column, x, pivot);
    });
    LogitSums<W> all = of_block(
        own, [](const LogitSums<W>& sums) { return warp_joined(sums); }, sums_of_nothing<W>());
    if (all.choice == no_column) all.choice = 0;
    return all;
}

// row[c] = factor * exp(row[c] - shift - rest) - everyone, and `right` less in the target's column
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
    for_each_pack(row, columns, [&]<unsigned count>(Count<count>, unsigned column) {
        Pack<T, count> x = load_pack<count>(row + column);
        for (unsigned i = 0; i < count; ++i) {
            const auto share = g.everyone + (column + i == target ? g.right : 0);
            const auto distance = static_cast<Wide<T>>(x.of[i]) - g.shift - g.rest;
            x.of[i] = static_cast<T>(g.factor * quick_exp(distance) - share);
        }
        store_pack(row + column, x);
    });
}

template <class T>
__device__ void write_zeros(T* row, unsigned columns) {
    for_each_pack(row, columns, [&]<unsigned count>(Count<count>, unsigned column) {
        Pack<T, count> zeros;
        for (unsigned i = 0; i < count; ++i) zeros.of[i] = static_cast<T>(Wide<T>{0});
        store_pack(row + column, zeros);
    });
}

}  // namespace trireme::gpu
