#include "schedule/search/least_duration.hpp"

#include <gtest/gtest.h>

namespace trireme::schedule {
namespace {

double least(const PipelineShape& shape, const std::vector<StageCost>& costs) {
    return least_duration(shape, StageHoldings(shape), costs);
}

TEST(LeastDuration, OfOneTeamIsItsWork) {
    EXPECT_EQ(least(grid_shape(1, 1, 1, 3), {{1, 2, 3}}), 18);
    EXPECT_EQ(least(grid_shape(1, 1, 2, 3), {{1, 2, 3}, {1, 1, 1}}), 27);
}

TEST(LeastDuration, BeginsWhenSomethingHasCome) {
    EXPECT_EQ(least(grid_shape(3, 1, 1, 2), {{1, 1, 1, 2}, {1, 1, 1, 3}, {1, 1, 1}}), 1 + 2 + 1 + 3 + 2 * 3);
    EXPECT_EQ(least(grid_shape(3, 1, 1, 2), {{1, 1, 1, 2}, {4, 4, 4, 3}, {1, 1, 1}}), 1 + 2 + 2 * 12);
}

TEST(LeastDuration, DividesWorkAmongReplicas) {
    EXPECT_EQ(least(uneven_shape({2, 1}, 5), {{3, 3, 3}, {1, 1, 1}}), 3 * 9);
}

TEST(LeastDuration, EndsBehindSumsAndUpdates) {
    EXPECT_EQ(least(grid_shape(2, 1, 1, 1), {{1, 1, 1, 0, 4, 2}, {1, 1, 1, 0, 5, 1}}), 1 + 3 + 5 + 2);
}

}  // namespace
}  // namespace trireme::schedule
