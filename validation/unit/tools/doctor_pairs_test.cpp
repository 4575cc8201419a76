#include <gtest/gtest.h>

#include "tools/doctor/probes.hpp"

namespace trireme::tools::doctor {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

TEST(Pairs, ConnectRankZeroToANeighbourAndEachOtherNode) {
    EXPECT_EQ(list_pairs({0}), Pairs{});
    EXPECT_EQ(list_pairs({0, 0, 0, 0}), (Pairs{{0, 1}}));
    EXPECT_EQ(list_pairs({0, 0, 2, 2, 4, 4}), (Pairs{{0, 1}, {0, 2}, {0, 4}}));
    EXPECT_EQ(list_pairs({0, 1, 0, 1, 0, 1}), (Pairs{{0, 1}, {0, 2}}));  // ranks alternate between nodes
    EXPECT_EQ(list_pairs({0, 1, 2}), (Pairs{{0, 1}, {0, 2}}));
}

}  // namespace
}  // namespace trireme::tools::doctor
