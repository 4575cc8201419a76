#include "trireme/policy/clocks.hpp"

#include <gtest/gtest.h>

namespace trireme::policy {
namespace {

TEST(Clocks, AreTriedFromTheHighestOneInDistancesOf90Mhz) {
    std::vector<int> v100;
    for (int mhz = 1530; mhz >= 810; mhz -= 30) v100.push_back(mhz);

    EXPECT_EQ(list_candidate_clocks(v100),
              (std::vector<int>{1530, 1440, 1350, 1260, 1170, 1080, 990, 900, 810}));
}

TEST(Clocks, AreTheNearestListedOnes) {
    EXPECT_EQ(list_candidate_clocks({1410, 1305, 1200, 1000}), (std::vector<int>{1410, 1305, 1200, 1000}));
    EXPECT_EQ(list_candidate_clocks({1410}), (std::vector<int>{1410}));
    EXPECT_EQ(list_candidate_clocks({1410, 1400}), (std::vector<int>{1410}));
}

TEST(Clocks, NeedTheFewestJoulesOnEachDevice) {
    EXPECT_EQ(find_best_clocks({{5, 5, 5}, {4, 5, 6}, {3, 6, 4}}), (std::vector<std::size_t>{2, 0, 2}));
}

}  // namespace
}  // namespace trireme::policy
