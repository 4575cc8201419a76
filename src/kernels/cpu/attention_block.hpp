// What forward and backward attention share: a head's rows packed block by block, scores, masks and dropout.
//
// A segment is cut into blocks of block_rows rows. Of the (query block, key block) pairs only those are visited
// that some query sees, and in the pairs on the diagonal only the register tiles it touches:
//
//           keys 0  1  2
//   queries 0    d            # whole
//           1    #  d         d up to the diagonal
//           2    #  #  d
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/philox.hpp"
#include "kernels/cpu/tile.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/dropout.hpp"

namespace trireme::cpu {

inline constexpr std::size_t block_rows = 64;  // its scores fill half a first-level cache in float

// Zeroed memory that starts on a cache line.
template <class T>
class Scratch {
public:
    explicit Scratch(std::size_t size) : memory_(size + vector_bytes / sizeof(T)) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        data_ = memory_.data() + (vector_bytes - address % vector_bytes) % vector_bytes / sizeof(T);
    }
    Scratch(Scratch&&) noexcept = default;  // a copy would point into the memory of the other

    T* data() const { return data_; }

private:
    std::vector<T> memory_;
    T* data_;
};

// A pair of blocks of one segment.
struct BlockPair {
    std::size_t query_begin;  // counted from the segment's begin
    std::size_t key_begin;
    std::size_t queries;
    std::size_t keys;
    bool is_causal;

    bool is_diagonal() const { return is_causal && query_begin == key_begin; }
    // How many of the block's keys the queries up to `query` see.
    std::size_t keys_seen(std::size_t query) const { return is_diagonal() ? std::min(query + 1, keys) : keys; }
    // The first of the block's queries that sees a key of it.
    std::size_t first_query(std::size_t key) const { return is_diagonal() ? key : 0; }
};

// Calls use(pair) for the key blocks that a query block sees, in order.
template <class Use>
void for_each_pair(std::size_t length, bool is_causal, std::size_t query_begin, const Use& use) {
    const std::size_t queries = std::min(block_rows, length - query_begin);
    const std::size_t end = is_causal ? query_begin + queries : length;
    for (std::size_t key_begin = 0; key_begin < end; key_begin += block_rows) {
        use(BlockPair{query_begin, key_begin, queries, std::min(block_rows, length - key_begin), is_causal});
    }
}

// Rows of a head lie a whole fused row apart, which the processor does not foresee: they are called up this
// many rows before they are needed.
inline constexpr std::size_t rows_ahead = 8;

template <bool to_write, class T>
inline void call_up(const T* row, std::size_t columns) {
    for (std::size_t c = 0; c < columns; c += 64 / sizeof(T)) __builtin_prefetch(row + c, to_write ? 1 : 0);
}

// target = factor * (columns of rows of source), row by row, rows padded with zeros to `stride`.
template <class T>
void pack_rows(const Elements<const T>& source, std::size_t row, std::size_t rows, std::size_t column,
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

// The way back: columns of rows of target = factor * packed.
template <class T>
void unpack_rows(const T* packed, std::size_t rows, T factor, const Elements<T>& target, std::size_t row,
                 std::size_t column, std::size_t columns) {
    const std::size_t stride = round_up(columns, lanes<T>);
    for (std::size_t r = 0; r < rows; ++r) {
        T* to = target.row(row + r) + column;
        if (r + rows_ahead < rows) call_up<true>(to + rows_ahead * target.stride, columns);
        const T* from = packed + r * stride;
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) to[c] = factor * from[c];
    }
}

// The rows transposed, in blocks of block_rows rows: channel c of row r at
//   target[r / block_rows][c][r % block_rows], zeros beyond the last row.
template <class T>
void pack_transposed(const Elements<const T>& source, std::size_t row, std::size_t rows, std::size_t column,
                     std::size_t columns, T* target) {
    std::fill_n(target + rows / block_rows * block_rows * columns,
                rows % block_rows == 0 ? 0 : block_rows * columns, T{0});
    for (std::size_t r = 0; r < rows; ++r) {
        const T* from = source.row(row + r) + column;
        if (r + rows_ahead < rows) call_up<false>(from + rows_ahead * source.stride, columns);
        T* to = target + r / block_rows * block_rows * columns + r % block_rows;
        for (std::size_t c = 0; c < columns; ++c) to[c * block_rows] = from[c];
    }
}

// products[q][k] = left[q] . right^T[k] for the keys that the queries of a tile see; columns up to a whole
// vector are written.
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

// Scores that a query does not see become so low that their weight is 0. All others of its row stay.
template <class T>
void mask_row(T* scores, std::size_t seen) {
    std::fill(scores + seen, scores + block_rows, std::numeric_limits<T>::lowest());
}

// The dropout factors of one head in one segment.
template <class T>
class WeightFactors {
public:
    WeightFactors(const AttentionDropout& dropout, std::int64_t sample, std::size_t head)
        : is_on_(dropout.is_on()),
          key_(dropout.key.then(static_cast<std::uint64_t>(sample))),
          head_(static_cast<std::uint32_t>(dropout.first_head + head)),
          threshold_(static_cast<std::uint32_t>(keep_threshold(dropout.rate))),
          scale_(static_cast<T>(1 / (1 - dropout.rate))) {}

    bool is_on() const { return is_on_; }

    // factors[k] of keys key_begin .. key_begin + block_rows for one query
    void draw(std::size_t query, std::size_t key_begin, T* factors) const {
        std::uint32_t words[block_rows];
        const RandomBlock first{static_cast<std::uint32_t>(key_begin / 4), static_cast<std::uint32_t>(query),
                                head_, 1};
        random_words(key_, first, block_rows / 4, words);
#pragma omp simd
        for (std::size_t k = 0; k < block_rows; ++k) factors[k] = words[k] >= threshold_ ? scale_ : T{0};
    }

private:
    bool is_on_;
    RandomKey key_;
    std::uint32_t head_;
    std::uint32_t threshold_;
    T scale_;
};

// Writes zeros into the rows that belong to no segment.
template <class T>
void clear_padding(std::span<const Segment> segments, const Elements<T>& matrix) {
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

// Calls use(workspace, segment, i) for every segment and i < count, each workspace by one thread at a time.
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

}  // namespace trireme::cpu
