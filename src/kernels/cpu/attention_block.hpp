// Code that forward and backward attention share: pairs of blocks, their matmuls, their masks, and the division
// of the work among threads.
//
// A segment holds the consecutive rows of one sample, which attend only to each other. It is divided into
// blocks of block_rows rows. A (query block, key block) pair is skipped if the causal mask hides all of it. In
// the pairs on the diagonal, register tiles above the diagonal are skipped. With three blocks:
//
//                key block 0  1  2
//   query block 0          d            # all tiles are computed
//               1          #  d         d only the tiles up to the diagonal are computed
//               2          #  #  d
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/head_rows.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/tile.hpp"
#include "trireme/kernels/attention.hpp"

namespace trireme::kernels::cpu {

// A query block and a key block of one segment.
struct BlockPair {
    std::size_t query_begin;  // counted from the segment's begin
    std::size_t key_begin;    // counted from the segment's begin
    std::size_t queries;      // number of queries in the query block
    std::size_t keys;         // number of keys in the key block
    bool is_causal;

    bool is_diagonal() const { return is_causal && query_begin == key_begin; }
    // Returns the number of keys of the key block that query `query` of the query block attends to.
    std::size_t count_visible_keys(std::size_t query) const {
        return is_diagonal() ? std::min(query + 1, keys) : keys;
    }
    // Returns the first query of the query block that attends to key `key` of the key block.
    std::size_t find_first_query(std::size_t key) const { return is_diagonal() ? key : 0; }
};

// Calls use(BlockPair) for each key block that a query block attends to, in order. The segment has `length`
// rows, and the query block begins at its row `query_begin`.
template <class Use>
void for_each_pair(std::size_t length, bool is_causal, std::size_t query_begin, const Use& use) {
    const std::size_t queries = std::min(block_rows, length - query_begin);
    const std::size_t end = is_causal ? query_begin + queries : length;
    for (std::size_t key_begin = 0; key_begin < end; key_begin += block_rows) {
        use(BlockPair{query_begin, key_begin, queries, std::min(block_rows, length - key_begin), is_causal});
    }
}

// Computes dot_products[q][k] = left[q] . right[k] for each query q of a pair and each key k that q attends to.
// Some dot products with masked keys are computed too. right_transposed[c][k] is element c of right[k]. The
// rows of dot_products have block_rows elements.
template <class T>
void multiply_visible_keys(const BlockPair& pair, const T* left, std::size_t left_stride,
                           const T* right_transposed, std::size_t depth, T* dot_products) {
    for (std::size_t q = 0; q < pair.queries; q += tile_rows) {
        const std::size_t rows = std::min<std::size_t>(tile_rows, pair.queries - q);
        multiply_rows<tile_rows, T>(
            rows, {left + q * left_stride, left_stride, 1}, {right_transposed, block_rows}, depth,
            pair.count_visible_keys(q + rows - 1), {dot_products + q * block_rows, block_rows}, false);
    }
}

// output[q] += sum over keys k of weights[q][k] right[k]. The caller sets the weights of masked keys to 0.
template <class T>
void add_weighted_keys(const BlockPair& pair, const T* weights, const T* right, std::size_t columns,
                       T* output) {
    for (std::size_t q = 0; q < pair.queries; q += tile_rows) {
        const std::size_t rows = std::min<std::size_t>(tile_rows, pair.queries - q);
        multiply_rows<tile_rows, T>(rows, {weights + q * block_rows, block_rows, 1}, {right, columns},
                                    pair.count_visible_keys(q + rows - 1), columns,
                                    {output + q * columns, columns}, true);
    }
}

// output[k] += sum over queries q of weights[q][k] right[q]. The caller sets the weights of masked keys to 0.
template <class T>
void add_weighted_queries(const BlockPair& pair, const T* weights, const T* right, std::size_t columns,
                          T* output) {
    for (std::size_t k = 0; k < pair.keys; k += tile_rows) {
        const std::size_t rows = std::min<std::size_t>(tile_rows, pair.keys - k);
        const std::size_t first = std::min(pair.find_first_query(k), pair.queries);
        multiply_rows<tile_rows, T>(rows, {weights + first * block_rows + k, 1, block_rows},
                                    {right + first * columns, columns}, pair.queries - first, columns,
                                    {output + k * columns, columns}, true);
    }
}

// Sets the scores of masked keys so low that their weight is 0. Only the first `visible_keys` scores remain.
template <class T>
void mask_row(T* scores, std::size_t visible_keys) {
    std::fill(scores + visible_keys, scores + block_rows, std::numeric_limits<T>::lowest());
}

// Writes zeros into the rows that belong to no segment.
template <class T>
void clear_padding(std::span<const Segment> segments, const device::Elements<T>& matrix) {
    std::vector<bool> is_used(matrix.rows);
    for (const Segment& segment : segments) {
        std::fill_n(is_used.begin() + static_cast<std::ptrdiff_t>(segment.begin), segment.length, true);
    }
    for (std::size_t r = 0; r < matrix.rows; ++r) {
        if (!is_used[r]) std::fill_n(matrix.row(r), matrix.columns, T{0});
    }
}

inline std::size_t find_max_length(std::span<const Segment> segments) {
    std::size_t length = 0;
    for (const Segment& segment : segments) length = std::max(length, segment.length);
    return length;
}

// Calls use(workspace, segment, i) in parallel for every segment and i < count. Each thread has its own
// workspace, which make() returns.
template <class Workspace, class Make, class Use>
void for_each_task(int threads, std::span<const Segment> segments, std::size_t count, const Make& make,
                   const Use& use) {
    const std::size_t tasks = segments.size() * count;
    const std::size_t workers = choose_thread_count(threads, tasks, 1);
    std::vector<Workspace> workspaces;
    for (std::size_t worker = 0; worker < workers; ++worker) workspaces.push_back(make());
    run_on_threads(workers, [&](std::size_t worker) {
        for (std::size_t task = worker; task < tasks; task += workers) {
            use(workspaces[worker], segments[task / count], task % count);
        }
    });
}

}  // namespace trireme::kernels::cpu
