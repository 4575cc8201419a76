#include "trireme/policy/resize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace trireme::policy {
namespace {

using Parts = std::vector<double>;

constexpr double limit = 0.9;

// Returns the times of ranks that are slow only in matmuls. A healthy rank takes 1 s for all of its matmuls,
// less the skipped fraction, plus `others`.
std::vector<plan::RankTimes> times_of(const std::vector<double>& slowness, double others,
                                      const Parts& skipped) {
    std::vector<plan::RankTimes> times;
    for (std::size_t r = 0; r < slowness.size(); ++r)
        times.push_back({.matmuls = slowness[r] * (1 - skipped[r]),
                         .matmul_flops = 1 - skipped[r],
                         .full_flops = 1,
                         .others = others});
    return times;
}

Parts find_fractions(const std::vector<double>& slowness, double others, const Parts& skipped,
                     double most = limit) {
    return balance_skipped_fractions(times_of(slowness, others, skipped), slowness, most);
}

// Skipping 1 - 1/factor makes a slow rank as fast as the others (FlexTP).
TEST(SkippedFractions, MakeASlowRankAsFastAsTheOthers) {
    for (const double others : {0.0, 0.25}) {
        EXPECT_DOUBLE_EQ(find_fractions({2, 1, 1, 1}, others, {0, 0, 0, 0})[0], 0.5);
        EXPECT_DOUBLE_EQ(find_fractions({4, 1, 1, 1}, others, {0, 0, 0, 0})[0], 0.75);
        EXPECT_DOUBLE_EQ(find_fractions({8, 1, 1, 1}, others, {0, 0, 0, 0})[0], 0.875);
        EXPECT_EQ(find_fractions({1, 1, 1, 1}, others, {0, 0, 0, 0}), (Parts{0, 0, 0, 0}));
    }
}

TEST(SkippedFractions, AreSetForEverySlowRank) {
    EXPECT_EQ(find_fractions({8, 6, 4, 2, 1, 1, 1, 1}, 0.25, Parts(8, 0)),
              (Parts{7.0 / 8, 5.0 / 6, 0.75, 0.5, 0, 0, 0, 0}));
}

TEST(SkippedFractions, StayConstantOnceApplied) {
    for (const double factor : {2.0, 4.0, 8.0}) {
        const double part = 1 - 1 / factor;

        EXPECT_NEAR(find_fractions({factor, 1}, 0.25, {part, 0})[0], part, 1e-12);
    }
}

// The published rule takes the measured time for that of all matmuls and the mean for the goal. The skipped
// fraction thus swings from period to period.
TEST(SkippedFractions, DoNotOscillateAsInThePublishedRule) {
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
        ours = find_fractions({2, 1, 1, 1, 1, 1, 1, 1}, 0, ours);
        EXPECT_NEAR(ours[0], 0.5, 1e-12);
    }
}

// The fraction that is really skipped may differ from the requested one, since only whole tiles are skipped.
TEST(SkippedFractions, AreComputedFromTheActuallySkippedFraction) {
    const std::vector<plan::RankTimes> half_of_it{
        {.matmuls = 4 * 0.375, .matmul_flops = 0.375, .full_flops = 1},
        {.matmuls = 1, .matmul_flops = 1, .full_flops = 1}};

    EXPECT_DOUBLE_EQ(balance_skipped_fractions(half_of_it, {4, 1}, limit)[0], 0.75);
}

TEST(SkippedFractions, DoNotExceedTheLimit) { EXPECT_EQ(find_fractions({16, 1}, 0, {0, 0}, 0.5)[0], 0.5); }

TEST(SkippedFractions, AreZeroForRecoveredRanks) {
    const std::vector<double> no_slowdown{1, 1};

    EXPECT_EQ(balance_skipped_fractions(times_of({1, 1}, 0.2, {0.75, 0}), no_slowdown, limit), (Parts{0, 0}));
}

plan::Plan plan_of_team(int tensor, const Parts& skipped = {}) {
    plan::Plan plan;
    plan.layout = layout::make_grid_layout({.tensor = tensor}, {11});
    plan.teams = make_teams(plan.layout);
    plan.skipped = skipped;
    return plan;
}

plan::Observation observed(const std::vector<double>& slowness, const Parts& skipped) {
    return {.step = 20, .step_seconds = 5, .ranks = times_of(slowness, 0.25, skipped), .slowness = slowness};
}

TEST(ResizePolicy, SkipsWorkOfASlowRank) {
    const auto decision = decide_resizing({}, observed({1, 4}, {0, 0}), plan_of_team(2));

    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->skipped, (Parts{0, 0.75}));
    EXPECT_EQ(decision->policy, "resize");
    EXPECT_EQ(decision->layout, plan_of_team(2).layout);
    EXPECT_DOUBLE_EQ(decision->terms.at("gain_s"), 3);
}

TEST(ResizePolicy, MakesNoDecisionWhileSlownessIsUnchanged) {
    EXPECT_FALSE(decide_resizing({}, observed({1, 4}, {0, 0.75}), plan_of_team(2, {0, 0.75})));
    EXPECT_FALSE(decide_resizing({}, observed({1, 4.05}, {0, 0.75}), plan_of_team(2, {0, 0.75})));
}

TEST(ResizePolicy, SkipsNothingAfterRecovery) {
    const auto decision = decide_resizing({}, observed({1, 1}, {0, 0.75}), plan_of_team(2, {0, 0.75}));

    ASSERT_TRUE(decision);
    EXPECT_TRUE(decision->skipped.empty());
}

}  // namespace
}  // namespace trireme::policy
