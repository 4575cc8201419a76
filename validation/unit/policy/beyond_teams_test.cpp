// Tests that layers and micro-batches are distributed in proportion to the speed of teams.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/policy/uneven.hpp"
#include "unit/policy/decide_uneven.hpp"
#include "unit/policy/planned_grid.hpp"

namespace trireme::policy {
namespace {

UnevenRules rules(int ranks) {
    return {.widths = {{96, 1}},
            .may_move_layers = true,
            .may_change_turns = true,
            .nodes = std::vector<int>(static_cast<std::size_t>(ranks), 0)};
}

// Returns an observation after step 10. A healthy device takes a second per layer and micro-batch.
plan::Observation observed(const plan::Plan& plan, const std::vector<double>& slowness) {
    plan::Observation observation{.step = 10, .step_seconds = 1, .slowness = slowness};
    observation.ranks.resize(slowness.size());
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        double layers = 0;
        for (const int stage : plan.teams[team].stages)
            layers += static_cast<double>(plan.layout.stages[static_cast<std::size_t>(stage)].layers.count) *
                      plan.training.shape.count_turns(static_cast<int>(team), stage);
        for (const int rank : plan.teams[team].ranks) {
            const auto r = static_cast<std::size_t>(rank);
            observation.ranks[r].matmuls =
                slowness[r] * layers / static_cast<double>(plan.teams[team].ranks.size());
            observation.ranks[r].matmul_flops = 1;
        }
    }
    return observation;
}

std::vector<std::size_t> count_turns(const plan::Decision& decision, std::size_t stage = 0) {
    std::vector<std::size_t> turns;
    for (const layout::ReplicaLayout& replica : decision.layout.stages[stage].replicas)
        turns.push_back(replica.turns);
    return turns;
}

std::vector<std::size_t> cuts_of(const plan::Decision& decision) {
    std::vector<std::size_t> cuts;
    for (const layout::StageLayout& stage : decision.layout.stages) cuts.push_back(stage.layers.count);
    return cuts;
}

double all_of(const std::vector<std::size_t>& numbers) {
    return static_cast<double>(std::accumulate(numbers.begin(), numbers.end(), std::size_t{0}));
}

TEST(UnevenPolicy, GivesSlowReplicasFewerMicrobatches) {
    const plan::Plan plan = plan_of({.data = 4}, 4);

    const auto decision = decide_uneven(rules(4), observed(plan, {1, 3, 1, 1}), plan, 0);

    ASSERT_TRUE(decision);
    EXPECT_EQ(count_turns(*decision), (std::vector<std::size_t>{5, 1, 5, 5}));
    EXPECT_EQ(decision->reason, "rank 1 takes 3.0 times as long as others");
    EXPECT_NEAR(decision->terms.at("gain_s"), (12 - 5) * 51, 1e-9);
}

// Returns the time of the last rank to finish in the best distribution of `count` units of work, with at least
// one unit per rank.
double best_of_all(const std::vector<double>& slowness, std::size_t count) {
    if (slowness.size() == 1) return slowness.front() * static_cast<double>(count);
    const std::vector<double> others(slowness.begin() + 1, slowness.end());
    double best = 1e9;
    for (std::size_t own = 1; own + others.size() <= count; ++own)
        best = std::min(
            best, std::max(slowness.front() * static_cast<double>(own), best_of_all(others, count - own)));
    return best;
}

TEST(UnevenPolicy, FindsTurnsWithinOnePercentOfTheBest) {
    for (const std::vector<double>& slowness : std::vector<std::vector<double>>{
             {1, 1.5}, {2, 1, 1}, {4, 1, 1}, {1, 3, 2.5}, {8, 6, 4, 2}, {1, 1, 1, 1.3}, {5, 1, 1.25, 1.5}}) {
        for (int each = 1; each <= 6; ++each) {
            const int replicas = static_cast<int>(slowness.size());
            const plan::Plan plan = plan_of({.data = replicas}, each);
            const auto decision = decide_uneven(rules(replicas), observed(plan, slowness), plan, 0);
            const std::vector<std::size_t> turns =
                decision ? count_turns(*decision) : std::vector<std::size_t>(slowness.size(), 1);
            double last = 0;
            for (std::size_t r = 0; r < slowness.size(); ++r)
                last = std::max(last,
                                slowness[r] * each * replicas * static_cast<double>(turns[r]) / all_of(turns));
            const double best = best_of_all(slowness, static_cast<std::size_t>(each * replicas));
            EXPECT_LE(last, best / 0.99 + 1e-9) << slowness.size() << " replicas, " << each << " each";
        }
    }
}

TEST(UnevenPolicy, GivesSlowStagesFewerLayers) {
    const plan::Plan plan = plan_of({.pipe = 4}, 64);

    const auto decision = decide_uneven(rules(4), observed(plan, {1, 1, 2, 1}), plan, 0);

    ASSERT_TRUE(decision);
    // 51 layers at the speeds 1, 1, 1/2 and 1 give 14.6 to a healthy rank and 7.3 to the slow one. Layers are
    // whole, and the slow rank gets fewer if no other stage becomes longer.
    const std::vector<std::size_t> cuts = cuts_of(*decision);
    EXPECT_EQ(std::accumulate(cuts.begin(), cuts.end(), std::size_t{0}), 51U);
    EXPECT_EQ(cuts[2], 6U);
    EXPECT_EQ(std::max({cuts[0], cuts[1], cuts[3]}), 15U);
}

TEST(UnevenPolicy, FindsTheBestCutOfLayers) {
    for (const std::vector<double>& slowness : std::vector<std::vector<double>>{
             {2, 1}, {1, 2, 1}, {4, 1, 1}, {1, 3, 2.5}, {8, 6, 4, 2}, {1, 1, 1, 1.3}}) {
        const int pipe = static_cast<int>(slowness.size());
        const plan::Plan plan = plan_of({.pipe = pipe}, 200);  // filling and draining take little of the step
        UnevenRules in_place = rules(pipe);
        in_place.nodes.clear();
        const auto decision = decide_uneven(in_place, observed(plan, slowness), plan, 0);
        ASSERT_TRUE(decision);
        const std::vector<std::size_t> cuts = cuts_of(*decision);
        double longest = 0;
        for (std::size_t s = 0; s < cuts.size(); ++s)
            longest = std::max(longest, slowness[s] * static_cast<double>(cuts[s]));
        EXPECT_NEAR(longest, best_of_all(slowness, 51), 1e-9) << pipe << " stages";
    }
}

// Two slow ranks in different stages and rows each delay a whole stage, until they share one.
TEST(UnevenPolicy, GroupsSlowRanksInOneStageOrRow) {
    const plan::Plan plan = plan_of({.pipe = 2, .data = 2}, 16);
    const std::vector<double> slowness{3, 1, 1, 3};

    const auto decision = decide_uneven(rules(4), observed(plan, slowness), plan, 0);

    ASSERT_TRUE(decision);
    std::vector<int> slow_stages;
    for (std::size_t s = 0; s < 2; ++s) {
        for (const layout::ReplicaLayout& replica : decision->layout.stages[s].replicas) {
            if (slowness[static_cast<std::size_t>(replica.ranks.front())] > 1)
                slow_stages.push_back(static_cast<int>(s));
        }
    }
    // Either both share a stage with a quarter of the layers, or both share a row with a quarter of the
    // micro-batches. In either case no device waits for another one.
    EXPECT_EQ(slow_stages.size(), 2U);
    const double formula = 51.0 * 32 / (1.0 / 3 + 1 + 1 + 1.0 / 3);
    const double before = 3 * 51.0 / 2 * 16;
    EXPECT_GT(decision->terms.at("gain_s"), before - 1.08 * formula);
}

TEST(UnevenPolicy, MovesRanksOnlyWithinTheirNode) {
    const plan::Plan plan = plan_of({.pipe = 2, .data = 2}, 16);
    UnevenRules apart = rules(4);
    apart.nodes = {0, 0, 1, 1};

    const auto decision = decide_uneven(apart, observed(plan, {3, 1, 1, 3}), plan, 0);

    ASSERT_TRUE(decision);
    for (const auto& [stage, node] : {std::pair{0U, 0}, std::pair{1U, 1}}) {
        for (const layout::ReplicaLayout& replica : decision->layout.stages[stage].replicas)
            EXPECT_EQ(apart.nodes[static_cast<std::size_t>(replica.ranks.front())], node);
    }
}

TEST(UnevenPolicy, KeepsCutsWithinTheMemoryLimit) {
    const plan::Plan plan = plan_of({.pipe = 2}, 8);
    UnevenRules narrow = rules(2);
    narrow.layers.assign(51, LayerWork{.state_bytes = 100, .activation_bytes = 10, .workspace_bytes = 50});
    narrow.memory_limit = 30 * 110 + 50;

    const auto decision = decide_uneven(narrow, observed(plan, {4, 1}), plan, 0);

    ASSERT_TRUE(decision);
    EXPECT_EQ(cuts_of(*decision), (std::vector<std::size_t>{21, 30}));
}

// The head and the embedding have no blocks, so a rank that holds one gets fewer blocks.
TEST(UnevenPolicy, WeighsLayersByTheirWork) {
    const plan::Plan plan = plan_of({.pipe = 2}, 200);
    UnevenRules heavy = rules(2);
    heavy.layers.assign(51, LayerWork{.matmuls = 1, .other_kernels = 0});
    heavy.layers.back() = {.matmuls = 0, .other_kernels = 20};
    plan::Observation observation = observed(plan, {1, 2});
    observation.ranks[1].matmuls -= 2 * 200;  // the head's
    observation.ranks[1].others = 20 * 200;

    const auto decision = decide_uneven(heavy, observation, plan, 0);

    ASSERT_TRUE(decision);
    // Matmuls take twice as long in the second stage, all else does not: x = 20 + 2 (50 - x).
    EXPECT_EQ(cuts_of(*decision), (std::vector<std::size_t>{40, 11}));
}

// A stage keeps at least one layer with matmuls: its time shows whether the rank has recovered.
TEST(UnevenPolicy, LeavesAtLeastOneBlockInEachStage) {
    const plan::Plan plan = plan_of({.pipe = 4}, 64);
    UnevenRules with_embedding = rules(4);
    with_embedding.layers.assign(51, LayerWork{.matmuls = 1});
    with_embedding.layers.front() = {.matmuls = 0, .other_kernels = 0.1};
    plan::Observation observation = observed(plan, {40, 1, 1, 1});
    observation.ranks[0].matmuls -= 40 * 64;  // the embedding's

    const auto decision = decide_uneven(with_embedding, observation, plan, 0);

    ASSERT_TRUE(decision);
    EXPECT_EQ(cuts_of(*decision)[0], 2U);
}

// A rank that has just recovered is still considered slow, and the last steps were short.
TEST(UnevenPolicy, PredictsNoNegativeStepTime) {
    const plan::Plan plan = plan_of({.data = 2}, 4);
    plan::Observation observation = observed(plan, {1, 3});
    observation.step_seconds = 1;

    const auto decision = decide_uneven(rules(2), observation, plan, 0);

    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->terms.at("predicted_step_s"), 0);
}

TEST(UnevenPolicy, RestoresTheHealthyLayoutOnceNoRankIsSlow) {
    plan::Plan plan = plan_of({.pipe = 2, .data = 2}, 8);
    const layout::Layout healthy_layout = plan.layout;
    plan.layout.stages[0].layers = {0, 10};
    plan.layout.stages[1].layers = {10, 41};
    plan.layout.stages[0].replicas[1].turns = 3;

    const auto decision = decide_uneven(rules(4), observed(plan, {1, 1, 1, 1}), plan, 0, healthy_layout);

    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->layout, healthy_layout);
    EXPECT_EQ(decision->reason, "no rank is slow any more");
}

TEST(UnevenPolicy, MakesNoDecisionIfCutsAndTurnsAreForbidden) {
    const plan::Plan plan = plan_of({.pipe = 2, .data = 2}, 8);
    UnevenRules only_shares = rules(4);
    only_shares.may_move_layers = only_shares.may_change_turns = false;

    EXPECT_FALSE(decide_uneven(only_shares, observed(plan, {3, 1, 1, 1}), plan, 0));
}

// Each rank holds two stages and would have to move both at once.
TEST(UnevenPolicy, MakesNoDecisionForSeveralChunksPerRank) {
    const plan::Plan plan = plan_of({.pipe = 2, .data = 2, .chunks = 2}, 8);

    EXPECT_FALSE(decide_uneven(rules(4), observed(plan, {3, 1, 1, 1}), plan, 0));
}

}  // namespace
}  // namespace trireme::policy
