#include "trireme/policy/freeze.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace trireme::policy {
namespace {

struct Schedule {
    int blocks;
    double alpha;
    std::vector<int> depths;  // after 0, 1, 2, ... periods
};

// The schedules that the program of PipeTransformer computes.
TEST(FreezeSchedule, IsThatOfPipeTransformer) {
    const std::vector<Schedule> published{
        {12, 1.0 / 5, {0, 3, 5, 6, 8, 9, 9, 10, 10, 11}},
        {12, 1.0 / 4, {0, 3, 6, 7, 9, 10, 10, 11, 11, 12}},
        {12, 1.0 / 3, {0, 4, 7, 9, 10, 11, 11, 12, 12, 12}},
        {12, 2.0 / 5, {0, 5, 8, 10, 11, 12}},
        {12, 1.0 / 2, {0, 6, 9, 11, 12}},
        {24, 1.0 / 3, {0, 8, 14, 17, 20, 21, 22, 23, 24, 24}},
        {8, 1.0 / 3, {0, 3, 5, 6, 7, 7, 8, 8, 8, 8}},
    };
    for (const Schedule& each : published)
        for (std::size_t periods = 0; periods < each.depths.size(); ++periods)
            EXPECT_EQ(find_scheduled_depth({.blocks = each.blocks, .alpha = each.alpha}, periods),
                      each.depths[periods])
                << each.blocks << " blocks, alpha " << each.alpha << ", period " << periods;
}

TEST(FreezeSchedule, NeverGoesBelowTheFirstDepth) {
    FreezeState state;
    EXPECT_EQ(end_periods({.blocks = 12, .alpha = 0.25}, 1, 5, state), 5);
    EXPECT_EQ(end_periods({.blocks = 12, .alpha = 0.25}, 1, 5, state), 6);
    EXPECT_EQ(state.earlier_depths, (std::vector{5}));
}

TEST(FreezeByGradients, FreezesUpToTheQuietestBlock) {
    const FreezeRules rules{.blocks = 6, .alpha = 0.9, .follows_gradients = true};
    FreezeState state;
    add_step({3, 2, 5, 2, 7, 9}, state);
    add_step({3, 2, 5, 2, 7, 9}, state);
    EXPECT_EQ(end_periods(rules, 1, 0, state), 2);  // of equal norms, the lower block wins

    add_step({0, 0, 5, 6, 7, 1}, state);
    EXPECT_EQ(end_periods(rules, 1, 2, state), 6);
    EXPECT_EQ(end_periods(rules, 1, 6, state), 6);
}

TEST(FreezeByGradients, ChangesNothingIfNoStepUpdatedTheParameters) {
    FreezeState state;
    EXPECT_EQ(end_periods({.blocks = 6, .alpha = 0.9, .follows_gradients = true}, 1, 0, state), 0);
    EXPECT_EQ(state.periods, 1U);
}

TEST(FreezeByGradients, StaysWithinItsBoundsForRandomNorms) {
    std::mt19937_64 random(1);
    for (int sequence = 0; sequence < 1000; ++sequence) {
        const int blocks = std::uniform_int_distribution(1, 40)(random);
        const double alpha = std::uniform_real_distribution(0.01, 0.99)(random);
        const FreezeRules rules{.blocks = blocks, .alpha = alpha, .follows_gradients = true};
        FreezeState state;
        int depth = std::uniform_int_distribution(0, blocks)(random);
        for (std::size_t period = 1; period <= 12; ++period) {
            std::vector<double> squares(static_cast<std::size_t>(blocks));
            for (double& each : squares) each = std::exponential_distribution(1.0)(random);
            for (int block = 0; block < depth; ++block) squares[static_cast<std::size_t>(block)] = 0;
            add_step(squares, state);
            const int next = end_periods(rules, 1, depth, state);
            ASSERT_GE(next, depth);
            ASSERT_LE(next, std::max(depth, find_scheduled_depth(rules, period)));
            ASSERT_LE(next, std::ceil(depth + alpha * (blocks - depth) - 1e-9));
            depth = next;
        }
    }
}

// After a thaw, T falls by one, and the next two periods do not count.
TEST(FreezeThaw, UndoesTheLastFreeze) {
    const FreezeRules rules{.blocks = 12, .alpha = 1.0 / 3};
    FreezeState state;
    add_evaluation(2.0, state);
    add_evaluation(2.5, state);
    EXPECT_FALSE(state.thaw_loss) << "no block is frozen";
    EXPECT_EQ(end_periods(rules, 1, 0, state), 4);
    EXPECT_EQ(end_periods(rules, 1, 4, state), 7);
    add_evaluation(2.02, state);
    add_evaluation(std::numeric_limits<double>::quiet_NaN(), state);
    EXPECT_FALSE(state.thaw_loss) << "it exceeds the best loss by no more than 1 %";
    add_evaluation(2.03, state);
    ASSERT_EQ(state.thaw_loss, 2.03);

    EXPECT_EQ(thaw(state), 4);

    EXPECT_FALSE(state.thaw_loss);
    EXPECT_EQ(state.periods, 1U);
    EXPECT_EQ(end_periods(rules, 1, 4, state), 4);
    EXPECT_EQ(end_periods(rules, 1, 4, state), 4);
    EXPECT_EQ(end_periods(rules, 1, 4, state), 7);
}

}  // namespace
}  // namespace trireme::policy
