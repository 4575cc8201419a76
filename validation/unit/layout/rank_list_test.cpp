#include <gtest/gtest.h>

#include "trireme/layout/layout.hpp"

namespace trireme::layout {
namespace {

TEST(RankList, JoinsThreeOrMoreNeighbours) {
    EXPECT_EQ(ranks_to_string({4}), "rank 4");
    EXPECT_EQ(ranks_to_string({0, 1}), "ranks 0,1");
    EXPECT_EQ(ranks_to_string({0, 1, 2, 3, 8}), "ranks 0-3,8");
    EXPECT_EQ(ranks_to_string({5, 6, 9, 10, 11}), "ranks 5,6,9-11");
}

TEST(RankList, KeepsTheOrder) { EXPECT_EQ(ranks_to_string({3, 2, 1}), "ranks 3,2,1"); }

}  // namespace
}  // namespace trireme::layout
