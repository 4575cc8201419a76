#include "trireme/layout/layout.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

TEST(GridLayout, NumbersRanksByStageThenReplicaThenTensorRank) {
    for (int code = 0; code < 81; ++code) {
        const Grid grid{.pipe = 1 + code % 3,
                        .data = 1 + code / 3 % 3,
                        .tensor = 1 + code / 9 % 3,
                        .chunks = 1 + code / 27};
        const auto stages = static_cast<std::size_t>(grid.pipe * grid.chunks);
        const Layout layout = make_grid_layout(grid, std::vector<std::size_t>(stages, 2));

        for (int s = 0; s < grid.pipe * grid.chunks; ++s) {
            for (int d = 0; d < grid.data; ++d) {
                const auto& ranks =
                    layout.stages[static_cast<std::size_t>(s)].replicas[static_cast<std::size_t>(d)].ranks;
                ASSERT_EQ(ranks.size(), static_cast<std::size_t>(grid.tensor));
                for (int t = 0; t < grid.tensor; ++t) {
                    EXPECT_EQ(ranks[static_cast<std::size_t>(t)],
                              (s % grid.pipe * grid.data + d) * grid.tensor + t);
                }
            }
        }
        EXPECT_NO_THROW(check_layout(layout, grid.pipe * grid.data * grid.tensor, 2 * stages, "the grid"));
    }
}

// Stages 0, 1 and 2 go down the pipeline; stages 3, 4 and 5 come back.
TEST(GridLayout, PlacesChunksInAV) {
    const Layout layout = make_grid_layout(
        {.pipe = 3, .data = 2, .tensor = 2, .chunks = 2, .placement = ChunkPlacement::v_shaped},
        {4, 2, 2, 2, 2, 4});

    for (std::size_t s = 0; s < 3; ++s) {
        EXPECT_EQ(layout.stages[s].replicas, layout.stages[5 - s].replicas) << s;
    }
    EXPECT_EQ(layout.stages[1].replicas[1].ranks, (std::vector{6, 7}));
    EXPECT_EQ(layout.stages[5].replicas[0].ranks, (std::vector{0, 1}));
    EXPECT_NO_THROW(check_layout(layout, 12, 16, "the grid"));
}

TEST(GridLayout, RejectsChunksOtherThanTwoInAV) {
    EXPECT_EQ(validation::catch_message<BugError>([] {
                  make_grid_layout({.pipe = 2, .chunks = 3, .placement = ChunkPlacement::v_shaped},
                                   {1, 1, 1, 1, 1, 1});
              }),
              "a V-shaped grid has 2 stages per rank, not 3");
}

TEST(GridLayout, CutsTheLayersInOrder) {
    const Layout layout = make_grid_layout({.pipe = 2, .chunks = 2}, {7, 6, 6, 8});

    EXPECT_EQ(layout.layers, 27U);
    EXPECT_EQ(layout.stages[0].layers, (Range{0, 7}));
    EXPECT_EQ(layout.stages[3].layers, (Range{19, 8}));
    EXPECT_EQ(layout.stages[3].replicas[0].ranks, std::vector{1});
}

TEST(GridLayout, GivesEveryReplicaTheSameShares) {
    const Layout even = make_grid_layout({.tensor = 3}, {5});
    const Layout uneven = make_grid_layout({.data = 2, .tensor = 3, .shares = {5, 2, 1}}, {5});

    EXPECT_EQ(even.stages[0].replicas[0].shares, (std::vector<std::size_t>{1, 1, 1}));
    EXPECT_EQ(uneven.stages[0].replicas[1].shares, (std::vector<std::size_t>{5, 2, 1}));
}

TEST(LayoutText, ShowsItemsAndReplicas) {
    EXPECT_EQ(to_string(make_grid_layout({.pipe = 4}, {7, 6, 6, 8})),
              "stage 0: layers 0-3, rank 0\n"
              "stage 1: layers 4-6, rank 1\n"
              "stage 2: layers 7-9, rank 2\n"
              "stage 3: layers 10-13, rank 3\n");
    EXPECT_EQ(to_string(make_grid_layout({.data = 2}, {27})), "stage 0: layers 0-13, rank 0 | rank 1\n");
}

TEST(LayoutText, EndsWithTheHeadOfAModelWithoutFinalNorm) {
    EXPECT_EQ(to_string(make_grid_layout({.pipe = 2}, {3, 3})),
              "stage 0: layers 0-1, rank 0\n"
              "stage 1: layers 2-3, rank 1\n");
}

TEST(LayoutText, ShowsHalvesIfACutIsInsideABlock) {
    EXPECT_EQ(to_string(make_grid_layout({.pipe = 3}, {6, 7, 14})),
              "stage 0: layers 0-3.5, rank 0\n"
              "stage 1: layers 3.5-6, rank 1\n"
              "stage 2: layers 7-13, rank 2\n");
    EXPECT_EQ(to_string(make_grid_layout({.pipe = 4}, {1, 1, 1, 4})),
              "stage 0: layer 0, rank 0\n"
              "stage 1: layers 1-1.5, rank 1\n"
              "stage 2: layer 1.5, rank 2\n"
              "stage 3: layers 2-3, rank 3\n");
}

TEST(LayoutText, ShowsUnevenSharesAndIdleRanks) {
    const Layout layout{27, {{{0, 27}, {{{0, 1, 2}, {5, 2, 1}}, {{3, 4}, {1, 1}}}}}, {5, 7}};

    EXPECT_EQ(to_string(layout), "stage 0: layers 0-13, ranks 0-2 (5:2:1) | ranks 3,4\nidle: ranks 5,7\n");
}

TEST(LayoutText, ShowsTheNumberOfTurnsOfReplicas) {
    const Layout layout{27, {{{0, 27}, {{{0, 1}, {5, 2}, 3}, {{2}, {1}}}}}, {}};

    EXPECT_EQ(to_string(layout), "stage 0: layers 0-13, ranks 0,1 (5:2) x3 | rank 2\n");
}

}  // namespace
}  // namespace trireme::layout
