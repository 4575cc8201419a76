#include <gtest/gtest.h>

#include "trireme/layout/layout.hpp"

namespace trireme::layout {
namespace {

Layout unequal_replicas() {  // 3, 3 and 2 replicas
    return {6,
            {{{0, 2}, {{{0}, {1}}, {{1}, {1}}, {{2}, {1}}}},
             {{2, 2}, {{{3}, {1}}, {{4}, {1}}, {{5}, {1}}}},
             {{4, 2}, {{{6}, {1}}, {{7}, {1}}}}},
            {}};
}

TEST(Teams, AreNumberedByReplicaThenStageOnAGrid) {
    for (int code = 0; code < 81; ++code) {
        const Grid grid{.pipe = 1 + code % 3,
                        .data = 1 + code / 3 % 3,
                        .tensor = 1 + code / 9 % 3,
                        .chunks = 1 + code / 27};
        const auto stages = static_cast<std::size_t>(grid.pipe * grid.chunks);
        const Layout layout = make_grid_layout(grid, std::vector<std::size_t>(stages, 2));
        const std::vector<Team> teams = make_teams(layout);

        ASSERT_EQ(teams.size(), static_cast<std::size_t>(grid.pipe * grid.data));
        for (int s = 0; s < grid.pipe * grid.chunks; ++s) {
            for (int d = 0; d < grid.data; ++d) {
                const int team = d * grid.pipe + s % grid.pipe;
                EXPECT_EQ(find_team(teams, layout, s, d), team);
                EXPECT_EQ(teams[static_cast<std::size_t>(team)].stages[static_cast<std::size_t>(s / grid.pipe)],
                          s);
            }
        }
        EXPECT_TRUE(is_grid(layout));
    }
}

TEST(Teams, ListTheirRanksAndAreFoundByRank) {
    const Layout layout = make_grid_layout({.pipe = 2, .data = 2, .tensor = 2}, {3, 3});
    const std::vector<Team> teams = make_teams(layout);

    EXPECT_EQ(teams[0].ranks, (std::vector{0, 1}));
    EXPECT_EQ(teams[1].ranks, (std::vector{4, 5}));
    EXPECT_EQ(teams[2].ranks, (std::vector{2, 3}));
    EXPECT_EQ(find_team_of_rank(teams, 5), 1);
    EXPECT_EQ(find_team_of_rank(teams, 8), -1);
}

TEST(Teams, AreOrderedByReplicaIfReplicaCountsDiffer) {
    const Layout layout = unequal_replicas();
    const std::vector<Team> teams = make_teams(layout);

    std::vector<int> ranks;
    for (const Team& team : teams) ranks.push_back(team.ranks.front());
    EXPECT_EQ(ranks, (std::vector{0, 3, 6, 1, 4, 7, 2, 5}));
    EXPECT_EQ(find_team(teams, layout, 1, 2), 7);
}

TEST(Teams, FormNoGridIfReplicaCountsDiffer) { EXPECT_FALSE(is_grid(unequal_replicas())); }

TEST(Teams, FormAGridDespiteUnevenShares) {
    EXPECT_TRUE(
        is_grid(make_grid_layout({.pipe = 2, .tensor = 3, .chunks = 2, .shares = {5, 2, 1}}, {1, 1, 1, 1})));
}

TEST(Teams, FormNoGridIfStagesDoNotAlternate) {
    const ReplicaLayout first{{0}, {1}};
    const ReplicaLayout second{{1}, {1}};

    EXPECT_TRUE(
        is_grid({4, {{{0, 1}, {first}}, {{1, 1}, {second}}, {{2, 1}, {first}}, {{3, 1}, {second}}}, {}}));
    EXPECT_FALSE(
        is_grid({4, {{{0, 1}, {first}}, {{1, 1}, {second}}, {{2, 1}, {second}}, {{3, 1}, {first}}}, {}}));
    EXPECT_FALSE(is_grid({3, {{{0, 1}, {first}}, {{1, 1}, {second}}, {{2, 1}, {first}}}, {}}));
}

TEST(Teams, FormNoGridIfAReplicaChangesItsNumber) {
    const ReplicaLayout first{{0}, {1}};
    const ReplicaLayout second{{1}, {1}};

    EXPECT_FALSE(is_grid({2, {{{0, 1}, {first, second}}, {{1, 1}, {second, first}}}, {}}));
    EXPECT_FALSE(is_v_shaped({2, {{{0, 1}, {first, second}}, {{1, 1}, {second, first}}}, {}}));
}

Layout v_of(int pipe, int data, int tensor) {
    return make_grid_layout(
        {.pipe = pipe, .data = data, .tensor = tensor, .chunks = 2, .placement = ChunkPlacement::v_shaped},
        std::vector<std::size_t>(2 * static_cast<std::size_t>(pipe), 2));
}

TEST(Teams, HoldTwoMirroredStagesInAV) {
    for (int code = 0; code < 27; ++code) {
        const int pipe = 1 + code % 3;
        const int data = 1 + code / 3 % 3;
        const Layout layout = v_of(pipe, data, 1 + code / 9);
        const std::vector<Team> teams = make_teams(layout);

        ASSERT_EQ(teams.size(), static_cast<std::size_t>(pipe * data));
        for (int t = 0; t < pipe * data; ++t) {
            const int down = t % pipe;
            const int up = 2 * pipe - 1 - down;
            EXPECT_EQ(teams[static_cast<std::size_t>(t)].stages, (std::vector{down, up}));
            EXPECT_EQ(find_team(teams, layout, up, t / pipe), t);
        }
        EXPECT_TRUE(is_v_shaped(layout));
        EXPECT_EQ(is_grid(layout), pipe == 1);
    }
}

TEST(Teams, FormAVOnlyWithTwoMirroredStagesEach) {
    EXPECT_FALSE(is_v_shaped(make_grid_layout({.pipe = 2}, {1, 1})));
    EXPECT_FALSE(is_v_shaped(make_grid_layout({.pipe = 2, .chunks = 2}, {1, 1, 1, 1})));
    EXPECT_FALSE(is_v_shaped(make_grid_layout({.chunks = 3}, {1, 1, 1})));
    EXPECT_FALSE(is_v_shaped(unequal_replicas()));
    EXPECT_TRUE(is_v_shaped(make_grid_layout({.chunks = 2}, {1, 1})));
}

}  // namespace
}  // namespace trireme::layout
