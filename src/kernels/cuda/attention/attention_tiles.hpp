// Work lists of attention on the GPU. Every row, also outside all segments, lies in exactly one tile, and a
// block of threads processes one tile of a head. The tiles with the most work come first, so that no large tile
// starts when all others are done.
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
    std::uint64_t random_key = 0;  // dropout key of its segment
    std::uint32_t segment = 0;     // first row of its segment
    std::uint32_t length = 0;      // rows of the segment; 0 for padding, which takes no part in attention
    std::uint32_t begin = 0;       // first row of the tile, counted from the segment's first row
    std::uint32_t rows = 0;        // rows of the tile

    constexpr RandomKey key() const { return {random_key}; }
    constexpr std::size_t first_row() const { return std::size_t{segment} + begin; }
    friend bool operator==(const AttentionTile&, const AttentionTile&) = default;
};

// Some query of the tile attends to each of the keys [0, seen_keys).
constexpr std::uint32_t seen_keys(const AttentionTile& queries, bool is_causal) {
    const std::uint32_t end = queries.begin + queries.rows;
    return is_causal && end < queries.length ? end : queries.length;
}

// Each of the queries [first_query, length) attends to some key of the tile.
constexpr std::uint32_t first_query(const AttentionTile& keys, bool is_causal) {
    const std::uint32_t first = is_causal ? keys.begin : 0;
    return first < keys.length ? first : keys.length;
}

// The meaning of the rows of a tile, which decides the work per tile and so the order of the tiles.
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

// The key is 0 without dropout, so that the tiles are the same in all layers and steps and are sent once.
inline std::uint64_t random_key(const AttentionDropout& dropout, const Segment& segment) {
    return dropout.is_on() ? dropout.key.then(static_cast<std::uint64_t>(segment.sample)).bits : 0;
}

}  // namespace detail

// Returns the tiles of `rows` rows, in descending order of work. Throws BugError if the rows exceed 32 bits.
inline std::vector<AttentionTile> attention_tiles(const AttentionShape& shape, std::size_t rows,
                                                  std::uint32_t tile_rows, TileOf what) {
    if (rows > std::numeric_limits<std::uint32_t>::max() - tile_rows)
        throw BugError(cat("attention on the GPU counts no ", rows, " rows"));
    std::vector<Segment> segments(shape.segments.begin(), shape.segments.end());
    std::erase_if(segments, [](const Segment& segment) { return segment.length == 0; });
    std::ranges::sort(segments, {}, &Segment::begin);
    segments.push_back({.begin = rows});
    std::vector<AttentionTile> tiles;
    std::size_t end = 0;  // end of the segments so far
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
