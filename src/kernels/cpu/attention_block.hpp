// Shared parts of forward and backward attention: pairs of blocks, their matmuls, masks and tasks.
//
// A segment is divided into blocks of block_rows rows. A (query block, key block) pair is skipped if the causal
// mask hides all of it. In the pairs on the diagonal, register tiles above the diagonal are skipped:
//
//           keys 0  1  2
//   queries 0    d            # whole
//           1    #  d         d up to the diagonal
//           2    #  #  d
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
    std::size_t key_begin;
    std::size_t queries;
    std::size_t keys;
    bool is_causal;

    bool is_diagonal() const { return is_causal && query_begin == key_begin; }
    // Number of the block's keys that the queries up to `query` attend to.
    std::size_t keys_seen(std::size_t query) const { return is_diagonal() ? std::min(query + 1, keys) : keys; }
    // First query of the block that attends to `key`.
    std::size_t first_query(std::size_t key) const { return is_diagonal() ? key : 0; }
};

// Calls use(pair) for each key block that a query block attends to, in order.
template <class Use>
void for_each_pair(std::size_t length, bool is_causal, std::size_t query_begin, const Use& use) {
    const std::size_t queries = std::min(block_rows, length - query_begin);
    const std::size_t end = is_causal ? query_begin + queries : length;
    for (std::size_t key_begin = 0; key_begin < end; key_begin += block_rows) {
        use(BlockPair{query_begin, key_begin, queries, std::min(block_rows, length - key_begin), is_causal});
    }
}

// products[q][k] = left[q] . right^T[k] for the keys that the queries of a tile attend to. The columns are
// padded to whole vectors.
template <class T>
void multiply_seen(const BlockPair& pair, const T* left, std::size_t left_stride, const T* right_transposed,
                   std::size_t depth, T* products) {
    for (std::size_t q = 0; q < pair.queries; q += tile_rows) {
        const std::size_t rows = std::min<std::size_t>(tile_rows, pair.queries - q);
        multiply_rows<tile_rows, T>(rows, {left + q * left_stride, left_stride, 1},
                                    {right_transposed, block_rows}, depth, pair.keys_seen(q + rows - 1),
                                    {products + q * block_rows, block_rows}, false);
    }
}

// output[q] += sum over keys of weights[q][k] right[k]
template <class T>
void add_weighted_keys(const BlockPair& pair, const T* weights, const T* right, std::size_t columns,
                       T* output) {
    for (std::size_t q = 0; q < pair.queries; q += tile_rows) {
        const std::size_t rows = std::min<std::size_t>(tile_rows, pair.queries - q);
        multiply_rows<tile_rows, T>(rows, {weights + q * block_rows, block_rows, 1}, {right, columns},
                                    pair.keys_seen(q + rows - 1), columns, {output + q * columns, columns},
                                    true);
    }
}

// output[k] += sum over queries of weights[q][k] right[q]
template <class T>
void add_weighted_queries(const BlockPair& pair, const T* weights, const T* right, std::size_t columns,
                          T* output) {
    for (std::size_t k = 0; k < pair.keys; k += tile_rows) {
        const std::size_t rows = std::min<std::size_t>(tile_rows, pair.keys - k);
        const std::size_t first = std::min(pair.first_query(k), pair.queries);
        multiply_rows<tile_rows, T>(rows, {weights + first * block_rows + k, 1, block_rows},
                                    {right + first * columns, columns}, pair.queries - first, columns,
                                    {output + k * columns, columns}, true);
    }
}

// Sets the scores of masked keys so low that their weight is 0; the first `seen` scores are kept.
template <class T>
void mask_row(T* scores, std::size_t seen) {
    std::fill(scores + seen, scores + block_rows, std::numeric_limits<T>::lowest());
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

inline std::size_t longest(std::span<const Segment> segments) {
    std::size_t length = 0;
    for (const Segment& segment : segments) length = std::max(length, segment.length);
    return length;
}

// Calls use(workspace, segment, i) for every segment and i < count. Each thread has its own workspace.
template <class Workspace, class Make, class Use>
void for_each_task(int threads, std::span<const Segment> segments, std::size_t count, const Make& make,
                   const Use& use) {
    const std::size_t tasks = segments.size() * count;
    const std::size_t parts = part_count(threads, tasks, 1);
    std::vector<Workspace> workspaces;
    for (std::size_t part = 0; part < parts; ++part) workspaces.push_back(make());
    for_each_part(parts, [&](std::size_t part) {
        for (std::size_t task = part; task < tasks; task += parts) {
            use(workspaces[part], segments[task / count], task % count);
        }
    });
}

}  // namespace trireme::kernels::cpu
