#include <gtest/gtest.h>

#include "report/page.hpp"

namespace trireme::report {
namespace {

layout::ReplicaLayout on(std::vector<int> ranks, std::vector<std::size_t> shares) {
    return {.ranks = std::move(ranks), .shares = std::move(shares)};
}

TEST(LayoutText, GivesTheSizesOfAGrid) {
    const layout::Layout grid = layout::make_grid_layout({.pipe = 2, .data = 3, .tensor = 1}, {4, 3});

    EXPECT_EQ(describe_grid(grid), "2 stages x 3 replicas x 1 tensor rank");
}

TEST(LayoutText, CountsReplicasPerStageIfTheLayoutIsNoGrid) {
    const layout::Layout uneven{
        .layers = 7,
        .stages = {{.layers = {0, 3}, .replicas = {on({0, 1}, {1, 1}), on({2, 3}, {2, 1})}},
                   {.layers = {3, 4}, .replicas = {on({4}, {1})}}},
        .idle = {5}};

    EXPECT_EQ(describe_grid(uneven), "2 stages with 2, 1 replicas, 1 idle rank");
}

TEST(LayoutText, ListsStagesOnlyForSmallLayouts) {
    const layout::Layout small = layout::make_grid_layout({.pipe = 2}, {4, 3});
    EXPECT_EQ(describe_stages(small), to_string(small));
    const layout::Layout large = layout::make_grid_layout({.pipe = 4, .data = 8, .tensor = 2}, {2, 2, 2, 1});

    EXPECT_EQ(describe_stages(large), "4 stages x 8 replicas x 2 tensor ranks");
}

}  // namespace
}  // namespace trireme::report
