#include "trireme/policy/uneven.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "trireme/layout/shares.hpp"
#include "unit/policy/decide_uneven.hpp"
#include "unit/policy/planned_grid.hpp"

namespace trireme::policy {
namespace {

using Shares = std::vector<std::size_t>;

UnevenRules rules() { return {.widths = {{16, 1.0 / 3}, {8192, 2.0 / 3}}}; }

// Returns an observation after step 10. A healthy rank takes one second for its matmuls.
plan::Observation observed(const std::vector<double>& slowness) {
    plan::Observation observation{.step = 10, .step_seconds = 1.25, .slowness = slowness};
    for (const double factor : slowness) observation.ranks.push_back({.matmuls = factor, .matmul_flops = 1});
    return observation;
}

const Shares& find_shares(const plan::Decision& decision, std::size_t stage = 0, std::size_t replica = 0) {
    return decision.layout.stages.at(stage).replicas.at(replica).shares;
}

TEST(UnevenShares, AreProportionalToSpeed) {
    const auto decision = decide_uneven(rules(), observed({1, 4}), plan_of({.tensor = 2}));

    ASSERT_TRUE(decision);
    EXPECT_EQ(find_shares(*decision), (Shares{4, 1}));
    EXPECT_EQ(decision->step, 10U);
    EXPECT_EQ(decision->policy, "uneven");
    EXPECT_EQ(decision->reason, "rank 1 takes 4.0 times as long as others");
    // With half of the work the slow rank took 4 s. With 13 of 16 heads and 4/5 of the columns the other takes
    // 1.6 s.
    EXPECT_NEAR(decision->terms.at("gain_s"), 4 - 2 * (13.0 / 16 / 3 + 0.8 * 2 / 3), 1e-3);
}

TEST(UnevenShares, AreChosenPerTeamForAllItsStages) {
    const plan::Plan plan = plan_of({.pipe = 2, .data = 2, .tensor = 2, .chunks = 2});

    const auto decision = decide_uneven(rules(), observed({1, 1, 1, 2, 1, 1, 1, 1}), plan);

    ASSERT_TRUE(decision);
    for (std::size_t stage = 0; stage < 4; ++stage) {
        for (std::size_t replica = 0; replica < 2; ++replica) {
            const bool has_slow_rank = stage % 2 == 0 && replica == 1;
            EXPECT_EQ(find_shares(*decision, stage, replica), has_slow_rank ? (Shares{2, 1}) : (Shares{1, 1}));
        }
    }
}

TEST(UnevenShares, AreNotChangedIfNoRankIsSlow) {
    EXPECT_FALSE(decide_uneven(rules(), observed({1, 1, 1, 1}), plan_of({.tensor = 4})));
}

TEST(UnevenShares, AreNotUsedWithoutTensorParallelism) {
    EXPECT_FALSE(decide_uneven(rules(), observed({1, 4}), plan_of({.pipe = 2})));
}

TEST(UnevenShares, AreNotChangedForASmallGain) {
    const plan::Plan plan = plan_of({.tensor = 2, .shares = {4, 1}});

    EXPECT_FALSE(decide_uneven(rules(), observed({1, 4.04}), plan));
    EXPECT_TRUE(decide_uneven(rules(), observed({1, 8}), plan));
}

TEST(UnevenShares, BecomeEvenOnceNoRankIsSlow) {
    const auto decision = decide_uneven(rules(), observed({1, 1}), plan_of({.tensor = 2, .shares = {4, 1}}));

    ASSERT_TRUE(decision);
    EXPECT_EQ(find_shares(*decision), (Shares{1, 1}));
    EXPECT_EQ(decision->reason, "no rank is slow any more");
}

// Devices that differ by less than what counts as slow may have been given shares by hand.
TEST(UnevenShares, StartFromTheSharesOfTheHealthyLayout) {
    const plan::Plan plan = plan_of({.tensor = 2, .shares = {5, 4}});

    EXPECT_FALSE(decide_uneven(rules(), observed({1, 1}), plan, 0.01, plan.layout));
    const auto decision = decide_uneven(rules(), observed({1, 2}), plan, 0.01, plan.layout);
    ASSERT_TRUE(decision);
    EXPECT_EQ(find_shares(*decision), (Shares{5, 2}));
    const auto back =
        decide_uneven(rules(), observed({1, 1}), plan_of({.tensor = 2, .shares = {5, 2}}), 0.01, plan.layout);
    ASSERT_TRUE(back);
    EXPECT_EQ(find_shares(*back), (Shares{5, 4}));
}

// Returns the shortest time in which the ranks can compute `units` heads, over all cuts into whole heads. One
// healthy device would take one second for all heads.
double best_seconds(std::size_t units, const std::vector<double>& slowness) {
    double best = 1e9;
    for (const double factor : slowness) {
        for (std::size_t most = 1; most <= units; ++most) {
            const double seconds = factor * static_cast<double>(most);
            std::size_t done = 0;
            bool has_all = true;
            for (const double other : slowness) {
                const auto own = static_cast<std::size_t>(seconds / other + 1e-9);
                has_all = has_all && own > 0;
                done += own;
            }
            if (has_all && done >= units) best = std::min(best, seconds);
        }
    }
    return best / static_cast<double>(units);
}

double seconds_of_policy(std::size_t units, const std::vector<double>& slowness) {
    const UnevenRules only{.widths = {{units, 1}}};
    const int ranks = static_cast<int>(slowness.size());
    const auto decision = decide_uneven(only, observed(slowness), plan_of({.tensor = ranks}), 0);
    const Shares shares = decision ? find_shares(*decision) : Shares(slowness.size(), 1);
    return compute_slowdown(only.widths, shares, slowness) / ranks;
}

TEST(UnevenShares, AreWithinTwoPercentOfTheBestCutOfHeads) {
    for (const std::size_t heads : {8U, 12U, 16U, 24U, 96U}) {
        for (const std::vector<double>& slowness : std::vector<std::vector<double>>{{2, 1},
                                                                                    {3, 1},
                                                                                    {2, 1, 1, 1},
                                                                                    {4, 1, 1, 1},
                                                                                    {8, 1, 1, 1},
                                                                                    {2, 1, 1, 1, 1, 1, 1, 1},
                                                                                    {4, 1, 1, 1, 1, 1, 1, 1},
                                                                                    {8, 1, 1, 1, 1, 1, 1, 1},
                                                                                    {8, 6, 4, 2, 1, 1, 1, 1},
                                                                                    {4, 3, 2, 1}}) {
            EXPECT_LE(seconds_of_policy(heads, slowness), 1.02 * best_seconds(heads, slowness))
                << heads << " heads over " << slowness.size() << ", the first " << slowness.front();
        }
    }
}

TEST(UnevenShares, MatchTheClosedFormForFineUnits) {
    for (const double ranks : {2.0, 4.0, 8.0}) {
        for (const double factor : {2.0, 4.0, 8.0}) {
            std::vector<double> slowness(static_cast<std::size_t>(ranks), 1);
            slowness[0] = factor;

            EXPECT_NEAR(ranks * seconds_of_policy(8192, slowness), ranks / (ranks - 1 + 1 / factor), 0.01);
        }
    }
}

}  // namespace
}  // namespace trireme::policy
