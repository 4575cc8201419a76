// Tests SlownessWatch with synthetic steps. Each rank has one matmul per step.
#include "trireme/policy/slowness_watch.hpp"

#include <gtest/gtest.h>

namespace trireme::policy {
namespace {

using Changes = std::vector<SlownessChange>;

// Returns the times of a rank whose matmul takes `pace` times the expected seconds.
plan::RankTimes times_of(double pace, double expected_seconds = 1) {
    return {.matmuls = pace * expected_seconds, .expected_matmuls = expected_seconds, .matmul_calls = 1};
}

std::vector<plan::RankTimes> paces(const std::vector<double>& all) {
    std::vector<plan::RankTimes> step;
    for (const double pace : all) step.push_back(times_of(pace));
    return step;
}

// Returns a watch that has seen the first step.
SlownessWatch watch_of(int ranks) {
    SlownessWatch watch(ranks);
    watch.add(paces(std::vector<double>(static_cast<std::size_t>(ranks), 1)));
    return watch;
}

// Returns all changes that are reported during `steps` steps with these times.
Changes after(SlownessWatch& watch, std::size_t steps, const std::vector<double>& seconds) {
    Changes all;
    for (std::size_t step = 0; step < steps; ++step) {
        for (const SlownessChange& change : watch.add(paces(seconds))) all.push_back(change);
    }
    return all;
}

TEST(SlownessWatch, ReportsASlowRankOnceAfterThreeSteps) {
    SlownessWatch watch = watch_of(4);

    EXPECT_EQ(after(watch, 2, {1, 1, 4, 1}), Changes{});
    EXPECT_EQ(after(watch, 1, {1, 1, 4, 1}), (Changes{{2, 4}}));
    EXPECT_EQ(after(watch, 50, {1, 1, 4, 1}), Changes{});
    EXPECT_EQ(watch.factors(), (std::vector<double>{1, 1, 4, 1}));
}

TEST(SlownessWatch, ReportsRecoveryAfterThreeSteps) {
    SlownessWatch watch = watch_of(2);
    after(watch, 10, {1, 3});

    EXPECT_EQ(after(watch, 2, {1, 1}), Changes{});
    EXPECT_EQ(after(watch, 1, {1, 1}), (Changes{{1, 1}}));
    EXPECT_EQ(watch.factors(), (std::vector<double>{1, 1}));
}

TEST(SlownessWatch, ReportsLargeChangesOfASlowRank) {
    SlownessWatch watch = watch_of(2);
    after(watch, 10, {1, 2});

    EXPECT_EQ(after(watch, 10, {1, 2.3}), Changes{});
    EXPECT_EQ(after(watch, 3, {1, 4}), (Changes{{1, 4}}));
    EXPECT_EQ(after(watch, 3, {1, 2}), (Changes{{1, 2}}));
}

TEST(SlownessWatch, IgnoresSlowdownsShorterThanThreeSteps) {
    SlownessWatch watch = watch_of(2);
    for (int time = 0; time < 20; ++time) {
        EXPECT_EQ(after(watch, 2, {1, 5}), Changes{});
        EXPECT_EQ(after(watch, 1, {1, 1}), Changes{});
        EXPECT_EQ(after(watch, 1, {1, 1.1}), Changes{});
        EXPECT_EQ(after(watch, 1, {1, 0.9}), Changes{});
    }
}

TEST(SlownessWatch, IgnoresTheFirstStepOfARun) {
    SlownessWatch watch(2);

    EXPECT_EQ(after(watch, 3, {1, 9}), Changes{});
    EXPECT_EQ(after(watch, 1, {1, 9}), (Changes{{1, 9}}));
}

TEST(SlownessWatch, UsesAHigherThresholdToBecomeSlowThanToStaySlow) {
    SlownessWatch never = watch_of(2);
    EXPECT_EQ(after(never, 100, {1, 1.15}), Changes{});

    SlownessWatch once = watch_of(2);
    EXPECT_EQ(after(once, 100, {1, 1.3}).size(), 1U);
    EXPECT_EQ(after(once, 100, {1, 1.15}), Changes{});
    EXPECT_EQ(after(once, 100, {1, 1.05}), (Changes{{1, 1}}));
}

TEST(SlownessWatch, ComparesRanksWithTheFasterHalf) {
    SlownessWatch watch = watch_of(8);

    EXPECT_EQ(after(watch, 3, {8, 6, 4, 2, 1, 1, 1, 1}), (Changes{{0, 8}, {1, 6}, {2, 4}, {3, 2}}));
}

TEST(SlownessWatch, ComparesMatmulTimeWithItsExpectation) {
    SlownessWatch watch = watch_of(2);
    std::vector<plan::RankTimes> step = paces({1, 1});
    step[1] = {.matmuls = 3, .expected_matmuls = 3, .matmul_calls = 3, .others = 5};

    for (int time = 0; time < 10; ++time) EXPECT_EQ(watch.add(step), Changes{});
}

TEST(SlownessWatch, IgnoresRanksWithoutMatmuls) {
    SlownessWatch watch = watch_of(3);
    std::vector<plan::RankTimes> step = paces({1, 1, 1});
    step[2] = {};

    for (int time = 0; time < 10; ++time) EXPECT_EQ(watch.add(step), Changes{});
    EXPECT_EQ(after(watch, 3, {1, 4, 1}), (Changes{{1, 4}}));
    EXPECT_EQ(SlownessWatch(2).add({{}, {}}), Changes{});
}

// Reports the changes of a watch of two ranks during `steps` steps, in which rank 1 has smaller matmuls.
Changes after_small(SlownessWatch& watch, std::size_t steps, double small_pace) {
    Changes all;
    for (std::size_t step = 0; step < steps; ++step) {
        for (const SlownessChange& change : watch.add({times_of(1), times_of(small_pace, 0.25)}))
            all.push_back(change);
    }
    return all;
}

// A slow rank with a smaller share computes narrower matrices, which are slower still.
TEST(SlownessWatch, DoesNotMistakeNewShapesForSlowness) {
    SlownessWatch watch = watch_of(2);
    after(watch, 10, {1, 3});

    EXPECT_EQ(after_small(watch, 10, 3.6), Changes{});
    EXPECT_NEAR(watch.factors()[1], 3, 0.3);
    EXPECT_EQ(after_small(watch, 3, 1.2), (Changes{{1, 1}}));
}

TEST(SlownessWatch, DetectsRecoveryAtAChangeOfShapes) {
    SlownessWatch watch = watch_of(2);
    after(watch, 10, {1, 3});

    after_small(watch, 20, 1);

    EXPECT_EQ(watch.factors()[1], 1);
}

TEST(SlownessWatch, CorrectsSlownessWronglyAttributedToShapes) {
    SlownessWatch watch = watch_of(2);
    after(watch, 10, {1, 3});

    after_small(watch, 200, 2.6);  // the rank became a little faster in the very step that changed shapes

    EXPECT_NEAR(watch.factors()[1], 2.6, 0.02);
}

// Two replicas get long samples, the two others short ones, whose matmuls are less efficient. They swap in each
// step.
TEST(SlownessWatch, CallsNoRankSlowBecauseOfTheShapesOfItsSamples) {
    SlownessWatch watch = watch_of(4);
    const plan::RankTimes large = times_of(1);
    const plan::RankTimes small = times_of(1.24, 0.1);
    for (int time = 0; time < 50; ++time) {
        EXPECT_EQ(watch.add({large, large, small, small}), Changes{});
        EXPECT_EQ(watch.add({small, small, large, large}), Changes{});
    }

    const plan::RankTimes slow_small = times_of(2 * 1.24, 0.1);
    Changes changes;
    for (int time = 0; time < 10; ++time)
        for (const SlownessChange& change : watch.add({large, large, slow_small, small}))
            changes.push_back(change);

    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes.front().rank, 2);
    EXPECT_NEAR(changes.front().factor, 2, 0.1);
}

// The first step of a run is ignored, and the following ones are taken to match the known factors.
TEST(SlownessWatch, ResumesFromKnownFactors) {
    SlownessWatch watch(4);
    watch.resume_from({1, 1, 4, 2});

    EXPECT_EQ(watch.factors(), (std::vector<double>{1, 1, 4, 2}));
    EXPECT_EQ(after(watch, 11, {1, 1, 4.4, 2}), Changes{});
    EXPECT_NEAR(watch.factors()[2], 4, 0.5);
    EXPECT_EQ(after(watch, 2, {1, 1, 4, 1}), Changes{});
    EXPECT_EQ(after(watch, 1, {1, 1, 4, 1}), (Changes{{3, 1}}));
}

}  // namespace
}  // namespace trireme::policy
