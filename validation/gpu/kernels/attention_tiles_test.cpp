#include "kernels/cuda/attention/attention_tiles.hpp"

#include <gtest/gtest.h>

#include <array>

namespace trireme::kernels::gpu {
namespace {

constexpr std::array<std::uint32_t, 3> tile_sizes{1, 4, 64};

struct Rows {
    std::size_t count;
    std::vector<kernels::Segment> segments;
};

const std::vector<Rows> layouts{
    {0, {}},
    {3, {}},
    {1, {{0, 1, 3}}},
    {65, {{0, 65, 3}}},
    {90, {{2, 66, 5}, {68, 1, 6}, {71, 17, 7}}},
    {40, {{20, 15, 5}, {0, 9, 6}, {12, 0, 7}}},
};

template <class Test>
void for_each_list(Test&& test) {
    for (const Rows& rows : layouts) {
        for (const std::uint32_t size : tile_sizes) {
            for (const bool is_causal : {true, false}) {
                for (const TileKind what : {TileKind::queries, TileKind::keys}) {
                    const kernels::AttentionShape shape{.segments = rows.segments,
                                                        .is_causal = is_causal,
                                                        .dropout = {.rate = 0.1, .key = RandomKey{7}}};
                    test(rows, shape, size, make_attention_tiles(shape, rows.count, size, what));
                }
            }
        }
    }
}

// Returns the segment of a row, or an empty one if no segment contains it.
kernels::Segment find_segment(const std::vector<kernels::Segment>& segments, std::size_t row) {
    for (const kernels::Segment& segment : segments)
        if (row >= segment.begin && row < segment.begin + segment.length) return segment;
    return {};
}

TEST(AttentionTiles, CoverEachRowExactlyOnce) {
    for_each_list([](const Rows& rows, const kernels::AttentionShape&, std::uint32_t size, const auto& tiles) {
        std::vector<int> covers(rows.count);
        for (const AttentionTile& tile : tiles) {
            EXPECT_GT(tile.rows, 0U);
            EXPECT_LE(tile.rows, size);
            EXPECT_EQ(tile.begin % size, 0U);
            for (std::size_t r = 0; r < tile.rows; ++r) ++covers.at(tile.first_row() + r);
        }

        EXPECT_EQ(covers, std::vector<int>(rows.count, 1));
    });
}

TEST(AttentionTiles, HoldTheSegmentAndDropoutKeyOfTheirRows) {
    for_each_list([](const Rows& rows, const kernels::AttentionShape& shape, std::uint32_t, const auto& tiles) {
        for (const AttentionTile& tile : tiles) {
            for (std::size_t r = 0; r < tile.rows; ++r) {
                const kernels::Segment segment = find_segment(rows.segments, tile.first_row() + r);
                EXPECT_EQ(tile.segment_length, segment.length);
                if (segment.length == 0) continue;
                EXPECT_EQ(tile.segment_begin, segment.begin);
                EXPECT_EQ(tile.get_random_key(),
                          shape.dropout.key.then(static_cast<std::uint64_t>(segment.sample)));
            }
        }
    });
}

// Without dropout, tiles do not depend on the samples, so that steps and layers can share a list.
TEST(AttentionTiles, DoNotDependOnTheSampleWithoutDropout) {
    std::vector<kernels::Segment> segments{{0, 65, 3}};
    const auto tiles = make_attention_tiles({.segments = segments}, 65, 16, TileKind::queries);
    segments.front().sample = 4;
    const auto of_other_sample = make_attention_tiles({.segments = segments}, 65, 16, TileKind::queries);

    ASSERT_EQ(tiles.size(), of_other_sample.size());
    for (std::size_t t = 0; t < tiles.size(); ++t)
        EXPECT_EQ(tiles[t].dropout_key, of_other_sample[t].dropout_key);
}

TEST(AttentionTiles, CountTheVisibleKeysAndQueriesOfTheirRows) {
    for_each_list([](const Rows&, const kernels::AttentionShape& shape, std::uint32_t, const auto& tiles) {
        for (const AttentionTile& tile : tiles) {
            const bool is_causal = shape.is_causal;
            const std::uint32_t last = tile.begin + tile.rows - 1;
            const std::uint32_t keys =
                is_causal ? std::min(last + 1, tile.segment_length) : tile.segment_length;
            EXPECT_EQ(count_visible_keys(tile, is_causal), keys);
            EXPECT_EQ(find_first_query(tile, is_causal),
                      is_causal ? std::min(tile.begin, tile.segment_length) : 0);
        }
    });
}

TEST(AttentionTiles, AreSortedByDescendingWork) {
    const std::vector<kernels::Segment> segments{{0, 5, 0}, {5, 12, 1}};
    const auto places = [&](TileKind what) {
        std::vector<std::size_t> rows;
        for (const AttentionTile& tile : make_attention_tiles({.segments = segments}, 18, 4, what))
            rows.push_back(tile.first_row());
        return rows;
    };

    EXPECT_EQ(places(TileKind::queries), (std::vector<std::size_t>{13, 9, 4, 0, 5, 17}));
    EXPECT_EQ(places(TileKind::keys), (std::vector<std::size_t>{5, 9, 0, 13, 4, 17}));
}

TEST(AttentionTiles, RejectRowCountsBeyond32Bits) {
    EXPECT_THROW(make_attention_tiles({}, std::size_t{1} << 32, 64, TileKind::keys), BugError);
}

}  // namespace
}  // namespace trireme::kernels::gpu
