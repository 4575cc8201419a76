// Work lists of attention on the GPU. A segment holds the rows of one sample, which attend only to each other.
// Every row, also a row outside all segments, lies in exactly one tile. A block of threads processes one tile
// of a head. The tiles with the most work come first, so that the last tiles to start are small.
//
//   rows       . . a a a a a b b . .        the segment of each row: a or b, or . for padding
//   tiles      0 0 1 1 2 2 3 4 4 5 5        the tile of each row, with at most 2 rows per tile
//
// The drawing numbers the tiles before they are sorted by work. Tiles 0 and 5 contain only padding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/kernels/attention.hpp"

namespace trireme::kernels::gpu {

struct AttentionTile {
    std::uint64_t dropout_key = 0;     // random key of the segment for dropout
    std::uint32_t segment_begin = 0;   // first row of the segment, or of a range of padding rows
    std::uint32_t segment_length = 0;  // rows of the segment; 0 for padding, which takes no part in attention
    std::uint32_t begin = 0;           // first row of the tile, counted from the segment's first row
    std::uint32_t rows = 0;            // rows of the tile

    constexpr RandomKey get_random_key() const { return {dropout_key}; }
    constexpr std::size_t first_row() const { return std::size_t{segment_begin} + begin; }
    friend bool operator==(const AttentionTile&, const AttentionTile&) = default;
};

// Returns the number of keys, from the segment's begin on, that at least one query of the tile attends to.
constexpr std::uint32_t count_visible_keys(const AttentionTile& queries, bool is_causal) {
    const std::uint32_t end = queries.begin + queries.rows;
    return is_causal && end < queries.segment_length ? end : queries.segment_length;
}

// Returns the first query that attends to at least one key of the tile; all later queries of the segment do
// too.
constexpr std::uint32_t find_first_query(const AttentionTile& keys, bool is_causal) {
    const std::uint32_t first = is_causal ? keys.begin : 0;
    return first < keys.segment_length ? first : keys.segment_length;
}

// The kind of rows that a tile has. The kind decides the work per tile and therefore the order of the tiles.
enum class TileKind : std::uint8_t { queries, keys };

namespace detail {

// Divides `rows` rows into tiles of at most tile_rows rows, and appends these tiles. Each new tile is a copy of
// `tile` with its own `begin` and `rows`.
inline void add_tiles(std::vector<AttentionTile>& tiles, AttentionTile tile, std::size_t rows,
                      std::uint32_t tile_rows) {
    for (std::size_t begin = 0; begin < rows; begin += tile_rows) {
        tile.begin = static_cast<std::uint32_t>(begin);
        tile.rows = static_cast<std::uint32_t>(std::min<std::size_t>(tile_rows, rows - begin));
        tiles.push_back(tile);
    }
}

// The key is 0 without dropout, so that the tiles are the same in all layers and steps and are uploaded only
// once.
inline std::uint64_t make_dropout_key(const AttentionDropout& dropout, const Segment& segment) {
    return dropout.is_on() ? dropout.key.then(static_cast<std::uint64_t>(segment.sample)).bits : 0;
}

}  // namespace detail

// Returns the tiles of `rows` rows, in descending order of work. Throws BugError if `rows` exceeds 32 bits.
inline std::vector<AttentionTile> make_attention_tiles(const AttentionShape& shape, std::size_t rows,
                                                       std::uint32_t tile_rows, TileKind kind) {
    const std::uint32_t max_rows = std::numeric_limits<std::uint32_t>::max() - tile_rows;
    if (rows > max_rows)
        throw BugError(cat("attention on the GPU supports at most ", max_rows, " rows, but was given ", rows));
    std::vector<Segment> segments(shape.segments.begin(), shape.segments.end());
    std::erase_if(segments, [](const Segment& segment) { return segment.length == 0; });
    std::ranges::sort(segments, {}, &Segment::begin);
    segments.push_back({.begin = rows});  // an empty segment, for the padding after the last segment
    std::vector<AttentionTile> tiles;
    std::size_t end = 0;  // end of the segments so far
    for (const Segment& segment : segments) {
        const auto padding_begin = static_cast<std::uint32_t>(end);
        detail::add_tiles(tiles, {.segment_begin = padding_begin}, segment.begin - end, tile_rows);
        detail::add_tiles(tiles,
                          {.dropout_key = detail::make_dropout_key(shape.dropout, segment),
                           .segment_begin = static_cast<std::uint32_t>(segment.begin),
                           .segment_length = static_cast<std::uint32_t>(segment.length)},
                          segment.length, tile_rows);
        end = segment.begin + segment.length;
    }
    const auto count_work = [&](const AttentionTile& tile) {
        return kind == TileKind::queries ? count_visible_keys(tile, shape.is_causal)
                                         : tile.segment_length - find_first_query(tile, shape.is_causal);
    };
    std::ranges::stable_sort(tiles, std::greater{}, count_work);
    return tiles;
}

}  // namespace trireme::kernels::gpu
