#include "trireme/adapt/change_estimate.hpp"

#include <gtest/gtest.h>

namespace trireme::adapt {
namespace {

TEST(ChangeEstimate, IsEmptyBeforeTheFirstChange) { EXPECT_FALSE(ChangeEstimate().predict_seconds(100)); }

TEST(ChangeEstimate, EqualsTheOnlyObservationForAnySize) {
    ChangeEstimate estimate;
    estimate.add(100, 0.5);

    EXPECT_DOUBLE_EQ(estimate.predict_seconds(100).value(), 0.5);
    EXPECT_DOUBLE_EQ(estimate.predict_seconds(900).value(), 0.5);
}

TEST(ChangeEstimate, FitsAFixedTimeAndATimePerByte) {
    ChangeEstimate estimate;
    for (const std::size_t bytes : {100, 300, 500, 500}) {
        estimate.add(bytes, 0.25 + 0.001 * static_cast<double>(bytes));
    }

    EXPECT_NEAR(estimate.predict_seconds(0).value(), 0.25, 1e-12);
    EXPECT_NEAR(estimate.predict_seconds(1000).value(), 1.25, 1e-12);
}

TEST(ChangeEstimate, AveragesChangesOfEqualSize) {
    ChangeEstimate estimate;
    estimate.add(100, 0.5);
    estimate.add(100, 0.7);

    EXPECT_DOUBLE_EQ(estimate.predict_seconds(100).value(), 0.6);
}

// A small change happened to take longer than a large one.
TEST(ChangeEstimate, NeverDecreasesWithMoreBytes) {
    ChangeEstimate estimate;
    estimate.add(100, 0.7);
    estimate.add(300, 0.5);

    EXPECT_DOUBLE_EQ(estimate.predict_seconds(1000).value(), 0.6);
}

}  // namespace
}  // namespace trireme::adapt
