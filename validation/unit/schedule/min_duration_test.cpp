#include "schedule/search/min_duration.hpp"

#include <gtest/gtest.h>

namespace trireme::schedule {
namespace {

double least(const PipelineShape& shape, const std::vector<StageCost>& costs) {
    return compute_min_duration(shape, StageHoldings(shape), costs);
}

TEST(LeastDuration, EqualsTheWorkOfASingleTeam) {
    EXPECT_EQ(least(make_grid_shape(1, 1, 1, 3), {{1, 2, 3}}), 18);
    EXPECT_EQ(least(make_grid_shape(1, 1, 2, 3), {{1, 2, 3}, {1, 1, 1}}), 27);
}

TEST(LeastDuration, IncludesTheArrivalOfTheFirstMicrobatch) {
    EXPECT_EQ(least(make_grid_shape(3, 1, 1, 2), {{1, 1, 1, 2}, {1, 1, 1, 3}, {1, 1, 1}}),
              1 + 2 + 1 + 3 + 2 * 3);
    EXPECT_EQ(least(make_grid_shape(3, 1, 1, 2), {{1, 1, 1, 2}, {4, 4, 4, 3}, {1, 1, 1}}), 1 + 2 + 2 * 12);
}

TEST(LeastDuration, DividesWorkAmongReplicas) {
    EXPECT_EQ(least(make_uneven_shape({2, 1}, 5), {{3, 3, 3}, {1, 1, 1}}), 3 * 9);
}

TEST(LeastDuration, IncludesGradientReductionsAndUpdates) {
    EXPECT_EQ(least(make_grid_shape(2, 1, 1, 1), {{1, 1, 1, 0, 4, 2}, {1, 1, 1, 0, 5, 1}}), 1 + 3 + 5 + 2);
}

}  // namespace
}  // namespace trireme::schedule
