#include "trireme/policy/resize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace trireme::policy {
namespace {

using Parts = std::vector<double>;

constexpr double limit = 0.9;

// Returns the times of ranks that are slow only in matmuls. A healthy rank takes 1 s for all of its matmuls,
// less the skipped fraction, beside `others`.
std::vector<plan::RankTimes> times_of(const std::vector<double>& slowness, double others,
                                      const Parts& left_out) {
    std::vector<plan::RankTimes> times;
    for (std::size_t r = 0; r < slowness.size(); ++r)
        times.push_back({.products = slowness[r] * (1 - left_out[r]),
                         .product_flops = 1 - left_out[r],
                         .whole_flops = 1,
                         .others = others});
    return times;
}

Parts parts_of(const std::vector<double>& slowness, double others, const Parts& left_out, double most = limit) {
    return parts_to_leave_out(times_of(slowness, others, left_out), slowness, most);
}

// Skipping 1 - 1/factor makes a slow rank as fast as the others (FlexTP).
TEST(PartsToLeaveOut, BringASlowRankToTheOthersTime) {
    for (const double others : {0.0, 0.25}) {
        EXPECT_DOUBLE_EQ(parts_of({2, 1, 1, 1}, others, {0, 0, 0, 0})[0], 0.5);
        EXPECT_DOUBLE_EQ(parts_of({4, 1, 1, 1}, others, {0, 0, 0, 0})[0], 0.75);
        EXPECT_DOUBLE_EQ(parts_of({8, 1, 1, 1}, others, {0, 0, 0, 0})[0], 0.875);
        EXPECT_EQ(parts_of({1, 1, 1, 1}, others, {0, 0, 0, 0}), (Parts{0, 0, 0, 0}));
    }
}

TEST(PartsToLeaveOut, AreOfEverySlowRank) {
    EXPECT_EQ(parts_of({8, 6, 4, 2, 1, 1, 1, 1}, 0.25, Parts(8, 0)),
              (Parts{7.0 / 8, 5.0 / 6, 0.75, 0.5, 0, 0, 0, 0}));
}

TEST(PartsToLeaveOut, StayOnceTheyAreLeftOut) {
    for (const double factor : {2.0, 4.0, 8.0}) {
        const double part = 1 - 1 / factor;

        EXPECT_NEAR(parts_of({factor, 1}, 0.25, {part, 0})[0], part, 1e-12);
    }
}

// The published rule takes the measured time for that of all matmuls and the mean for the goal. The skipped
// fraction thus swings from period to period.
TEST(PartsToLeaveOut, DoNotSwingAsByThePublishedRule) {
    constexpr double factor = 2;
    constexpr double ranks = 8;
    Parts published;
    double part = 0;
    for (int period = 0; period < 3; ++period) {
        const double own = factor * (1 - part);
        const double mean = (own + ranks - 1) / ranks;
        part = std::clamp((own - mean) / own, 0.0, limit);
        published.push_back(part);
    }
    EXPECT_NEAR(published[0], 0.4375, 1e-9);
    EXPECT_LT(published[1], 0.15);
    EXPECT_GT(published[2], 0.35);

    Parts ours(8, 0);
    for (int period = 0; period < 3; ++period) {
        ours = parts_of({2, 1, 1, 1, 1, 1, 1, 1}, 0, ours);
        EXPECT_NEAR(ours[0], 0.5, 1e-12);
    }
}

// The fraction that is really skipped may differ from the requested one, since only whole tiles are skipped.
TEST(PartsToLeaveOut, AreOfTheWholeWhateverWasLeftOutInTruth) {
    const std::vector<plan::RankTimes> half_of_it{
        {.products = 4 * 0.375, .product_flops = 0.375, .whole_flops = 1},
        {.products = 1, .product_flops = 1, .whole_flops = 1}};

    EXPECT_DOUBLE_EQ(parts_to_leave_out(half_of_it, {4, 1}, limit)[0], 0.75);
}

TEST(PartsToLeaveOut, KeepToTheLimit) { EXPECT_EQ(parts_of({16, 1}, 0, {0, 0}, 0.5)[0], 0.5); }

TEST(PartsToLeaveOut, AreNothingOfARankThatRecovered) {
    const std::vector<double> nobody{1, 1};

    EXPECT_EQ(parts_to_leave_out(times_of({1, 1}, 0.2, {0.75, 0}), nobody, limit), (Parts{0, 0}));
}

plan::Plan plan_of_team(int tensor, const Parts& left_out = {}) {
    plan::Plan plan;
    plan.layout = layout::grid_layout({.tensor = tensor}, {11});
    plan.teams = teams_of(plan.layout);
    plan.left_out = left_out;
    return plan;
}

plan::Observation observed(const std::vector<double>& slowness, const Parts& left_out) {
    return {.step = 20, .step_seconds = 5, .ranks = times_of(slowness, 0.25, left_out), .slowness = slowness};
}

TEST(ResizedProducts, LeaveOutWhatASlowRankHasNoTimeFor) {
    const auto decision = resized_products({})(observed({1, 4}, {0, 0}), plan_of_team(2));

    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->left_out, (Parts{0, 0.75}));
    EXPECT_EQ(decision->policy, "resize");
    EXPECT_EQ(decision->layout, plan_of_team(2).layout);
    EXPECT_DOUBLE_EQ(decision->terms.at(gain_term), 3);
}

TEST(ResizedProducts, StayAsLongAsTheSlownessDoes) {
    EXPECT_FALSE(resized_products({})(observed({1, 4}, {0, 0.75}), plan_of_team(2, {0, 0.75})));
    EXPECT_FALSE(resized_products({})(observed({1, 4.05}, {0, 0.75}), plan_of_team(2, {0, 0.75})));
}

TEST(ResizedProducts, AreWholeAgainBehindIt) {
    const auto decision = resized_products({})(observed({1, 1}, {0, 0.75}), plan_of_team(2, {0, 0.75}));

    ASSERT_TRUE(decision);
    EXPECT_TRUE(decision->left_out.empty());
}

TEST(ResizedProducts, AreWholeBeforeAnythingIsObserved) {
    EXPECT_FALSE(resized_products({})({.step = 0}, plan_of_team(2)));
    EXPECT_FALSE(resized_products({.every = 7})(observed({1, 4}, {0, 0}), plan_of_team(2)));
}

}  // namespace
}  // namespace trireme::policy
