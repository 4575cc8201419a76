// Work lists of attention on the GPU: every row, of a segment or of none, lies in exactly one tile, and a block
// of threads takes one tile of a head. Those with the most work come first, so that none of them is begun when
// all others are done.
//
//   rows       . . a a a a a b b . .        tiles of 2 rows
//   tiles      0 0 1 1 2 2 3 4 4 5 5        0 and 5 are padding: their segment has no rows
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/kernels/attention.hpp"

namespace trireme::kernels::gpu {

struct AttentionTile {
    std::uint64_t random_key = 0;  // of its segment's dropout
    std::uint32_t segment = 0;     // its first row
    std::uint32_t length = 0;      // of the segment; 0: rows that nobody sees and that see nobody
    std::uint32_t begin = 0;       // the tile's first row, counted from the segment's
    std::uint32_t rows = 0;        // of the tile

    constexpr RandomKey key() const { return {random_key}; }
    constexpr std::size_t first_row() const { return std::size_t{segment} + begin; }
    friend bool operator==(const AttentionTile&, const AttentionTile&) = default;
};

// Keys [0, seen_keys) are seen by some query of the tile.
constexpr std::uint32_t seen_keys(const AttentionTile& queries, bool is_causal) {
    const std::uint32_t end = queries.begin + queries.rows;
    return is_causal && end < queries.length ? end : queries.length;
}

// Queries [first_query, length) see some key of the tile.
constexpr std::uint32_t first_query(const AttentionTile& keys, bool is_causal) {
    const std::uint32_t first = is_causal ? keys.begin : 0;
    return first < keys.length ? first : keys.length;
}

// What the rows of a tile are, and so in which order tiles are begun.
enum class TileOf : std::uint8_t { queries, keys };

namespace detail {

inline void add_tiles(std::vector<AttentionTile>& tiles, AttentionTile tile, std::size_t rows,
                      std::uint32_t tile_rows) {
    for (std::size_t begin = 0; begin < rows; begin += tile_rows) {
        tile.begin = static_cast<std::uint32_t>(begin);
        tile.rows = static_cast<std::uint32_t>(std::min<std::size_t>(tile_rows, rows - begin));
        tiles.push_back(tile);
    }
}

// Without dropout tiles are the same in all layers and steps, and need to be told once.
inline std::uint64_t random_key(const AttentionDropout& dropout, const Segment& segment) {
    return dropout.is_on() ? dropout.key.then(static_cast<std::uint64_t>(segment.sample)).bits : 0;
}

}  // namespace detail

inline std::vector<AttentionTile> attention_tiles(const AttentionShape& shape, std::size_t rows,
                                                  std::uint32_t tile_rows, TileOf what) {
    if (rows > std::numeric_limits<std::uint32_t>::max() - tile_rows)
        throw BugError(cat("attention on the GPU counts no ", rows, " rows"));
    std::vector<Segment> segments(shape.segments.begin(), shape.segments.end());
    std::erase_if(segments, [](const Segment& segment) { return segment.length == 0; });
    std::ranges::sort(segments, {}, &Segment::begin);
    segments.push_back({.begin = rows});
    std::vector<AttentionTile> tiles;
    std::size_t end = 0;  // of the segments so far
    for (const Segment& segment : segments) {
        const auto padding = static_cast<std::uint32_t>(end);
        detail::add_tiles(tiles, {.segment = padding}, segment.begin - end, tile_rows);
        detail::add_tiles(tiles,
                          {.random_key = detail::random_key(shape.dropout, segment),
                           .segment = static_cast<std::uint32_t>(segment.begin),
                           .length = static_cast<std::uint32_t>(segment.length)},
                          segment.length, tile_rows);
        end = segment.begin + segment.length;
    }
    const auto work = [&](const AttentionTile& tile) {
        return what == TileOf::queries ? seen_keys(tile, shape.is_causal)
                                       : tile.length - first_query(tile, shape.is_causal);
    };
    std::ranges::stable_sort(tiles, std::greater{}, work);
    return tiles;
}

}  // namespace trireme::kernels::gpu
