#include "trireme/base/progress.hpp"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Progress, SaysCountRateAndRemainingTime) {
    EXPECT_EQ(describe_progress("convert", "MB", 1234, 2000, 4),
              "convert: 1,234 of 2,000 MB, 309 MB/s, 3s left");
    EXPECT_EQ(describe_progress("profile", "layers", 3, 400, 12),
              "profile: 3 of 400 layers, 0.25 layers/s, 26m28s left");
}

TEST(Progress, SaysPercentagesWithoutRateAndTotal) {
    EXPECT_EQ(describe_progress("step 1", "%", 25, 100, 4), "step 1: 25 %, 12s left");
}

TEST(Progress, SaysNoRemainingTimeWithoutATotal) {
    EXPECT_EQ(describe_progress("prepare", "rows", 9000, 0, 3), "prepare: 9,000 rows, 3,000 rows/s");
}

TEST(Progress, SaysNoRateBeforeTheFirstUnit) {
    EXPECT_EQ(describe_progress("convert", "MB", 0, 2000, 4), "convert: 0 of 2,000 MB");
    EXPECT_EQ(describe_progress("convert", "MB", 5, 2000, 0), "convert: 5 of 2,000 MB");
}

TEST(Progress, NeverShowsMoreThanTheTotal) {
    EXPECT_EQ(describe_progress("prepare", "MB", 30, 20, 3), "prepare: 30 of 30 MB, 10 MB/s, 0s left");
}

}  // namespace
}  // namespace trireme
