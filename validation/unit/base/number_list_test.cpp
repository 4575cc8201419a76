#include <gtest/gtest.h>

#include <vector>

#include "trireme/base/numbers.hpp"

namespace trireme {
namespace {

TEST(NumberList, JoinsThreeOrMoreConsecutiveNumbers) {
    EXPECT_EQ(format_ranges(std::vector<int>{}), "");
    EXPECT_EQ(format_ranges(std::vector{7}), "7");
    EXPECT_EQ(format_ranges(std::vector{0, 1}), "0,1");
    EXPECT_EQ(format_ranges(std::vector{0, 1, 2}), "0-2");
    EXPECT_EQ(format_ranges(std::vector{0, 1, 2, 3, 8}), "0-3,8");
    EXPECT_EQ(format_ranges(std::vector{1, 3, 5, 6, 8, 9, 10, 11}), "1,3,5,6,8-11");
}

}  // namespace
}  // namespace trireme
