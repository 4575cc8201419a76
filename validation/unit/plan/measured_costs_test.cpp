#include "trireme/plan/measured_costs.hpp"

#include <gtest/gtest.h>

#include "trireme/schedule/schedule_text.hpp"
#include "unit/plan/small_layouts.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::plan {
namespace {

using validation::slower;
using validation::small_profile;

layout::Layout two_stages(std::vector<layout::ReplicaLayout> first, std::vector<layout::ReplicaLayout> second) {
    return {.layers = 4, .stages = {{{0, 1}, std::move(first)}, {{1, 3}, std::move(second)}}};
}

// Stage 0 has a layer of 1 second forward; stage 1 has layers of 2, 3 and 4.
const layout::Layout plain = two_stages({{{0}, {1}}}, {{{1}, {1}}});

Plan plan_of(const layout::Layout& layout) { return make_plan({.layout = layout, .microbatches = 2}); }

TEST(MeasuredCosts, AreTheSumsOverTheLayersOfAStage) {
    const std::vector<schedule::StageCost> costs =
        compute_stage_costs({.kinds = {small_profile(4)}}, plan_of(plain));

    ASSERT_EQ(costs.size(), 2U);
    EXPECT_EQ(costs[0].forward, 1);
    EXPECT_EQ(costs[0].step, 8);
    EXPECT_EQ(costs[1].forward, 9);
    EXPECT_EQ(costs[1].backward_input, 13.5);  // the whole pass takes 27, its halves would take 18 each
    EXPECT_EQ(costs[1].backward_weight, 13.5);
    EXPECT_EQ(costs[1].step, 72);
    EXPECT_EQ(costs[1].send, 0);
    EXPECT_EQ(costs[1].reduce, 0);
}

TEST(MeasuredCosts, AreThoseOfTheHalvesIfTheBackwardPassIsSplit) {
    const Plan plan =
        make_plan({.layout = plain,
                   .schedule = "own.csv",
                   .file_programs = schedule::parse_phases_csv("0F0,0B0\n1F0,1I0,1W0\n", "own.csv"),
                   .microbatches = 1});

    const std::vector<schedule::StageCost> costs = compute_stage_costs({.kinds = {small_profile(4)}}, plan);

    EXPECT_EQ(costs[0].backward_input + costs[0].backward_weight, 3);
    EXPECT_EQ(costs[1].backward_input, 18);
    EXPECT_EQ(costs[1].backward_weight, 18);
}

TEST(MeasuredCosts, IncludeTheForwardPassAgainIfItIsRecomputed) {
    const Plan plan =
        make_plan({.layout = plain, .microbatches = 2, .recompute = {Recompute::full, Recompute::selective}});

    const std::vector<schedule::StageCost> costs = compute_stage_costs({.kinds = {small_profile(4)}}, plan);

    EXPECT_EQ(costs[0].backward_input, 1.5 + 1);
    EXPECT_EQ(costs[1].backward_input, 13.5);
}

TEST(MeasuredCosts, AreThoseOfTheRankWithTheLargestShare) {
    const layout::Layout layout = two_stages({{{0, 1}, {3, 1}}, {{2}, {1}}}, {{{3, 4}, {1, 1}}});

    const std::vector<schedule::StageCost> costs =
        compute_stage_costs({.kinds = {small_profile(4)}}, plan_of(layout));

    EXPECT_EQ(costs[0].forward, 1);  // replica 1 is one rank
    EXPECT_EQ(costs[0].step, 4);     // each replica updates half
    EXPECT_EQ(costs[1].forward, 4.5);
}

// In stage 0, replica 1 takes twice as long. In stage 1, the rank with a quarter of the work is four times
// slower, so it takes longer than the other rank.
TEST(MeasuredCosts, AreThoseOfTheRankThatTakesLongestForItsShare) {
    const layout::Layout layout = two_stages({{{0}, {1}}, {{1}, {1}}}, {{{2, 3}, {3, 1}}});
    const RankProfiles profiles{
        .kinds = {small_profile(4), slower(small_profile(4), 2), slower(small_profile(4), 4)},
        .kind_of_rank = {0, 1, 0, 2}};

    const std::vector<schedule::StageCost> costs = compute_stage_costs(profiles, plan_of(layout));

    EXPECT_EQ(costs[0].forward, 2);
    EXPECT_EQ(costs[0].backward_input + costs[0].backward_weight, 6);
    EXPECT_EQ(costs[0].step, 8);  // half of 16
    EXPECT_EQ(costs[1].forward, 9);
    EXPECT_EQ(costs[1].step, 72);
}

TEST(MeasuredCosts, IncludeTheLongestUpdateOfAnyRank) {
    const layout::Layout layout = two_stages({{{0}, {1}}, {{1}, {1}}}, {{{2}, {1}}});
    RankProfiles profiles{.kinds = {small_profile(4), slower(small_profile(4), 2)}, .kind_of_rank = {0, 1, 0}};
    profiles.kinds[0].layers[0].update = 100;

    const std::vector<schedule::StageCost> costs = compute_stage_costs(profiles, plan_of(layout));

    EXPECT_EQ(costs[0].forward, 2);
    EXPECT_EQ(costs[0].step, 50);
}

// Each kind of rank was measured among ranks of its kind. Between two kinds, the slower link counts.
TEST(MeasuredCosts, UseTheSlowerLinkBetweenDifferentKindsOfRanks) {
    const layout::Layout layout = two_stages({{{0}, {1}}}, {{{1}, {1}}});
    RankProfiles profiles{.kinds = {small_profile(4), small_profile(4)}, .kind_of_rank = {0, 1}};
    profiles.kinds[0].links = {{.link = {.bandwidth = 64}}};
    profiles.kinds[1].links = {{.link = {.bandwidth = 16}}};

    EXPECT_EQ(compute_stage_costs(profiles, plan_of(layout))[0].send, 4);
    profiles.kinds[1].links.clear();
    EXPECT_EQ(compute_stage_costs(profiles, plan_of(layout))[0].send, 1);
}

TEST(MeasuredCosts, UseTheSlowestLinkForMessagesAndAllReduces) {
    const layout::Layout layout = two_stages({{{0}, {1}}, {{1}, {1}}}, {{{2}, {1}}});
    Profile profile = small_profile(4);
    profile.links = {{.ranks = 2, .link = {.bandwidth = 100}}, {.link = {.latency = 1, .bandwidth = 64}}};
    profile.layers[0].rows = 128;

    const std::vector<schedule::StageCost> costs = compute_stage_costs({.kinds = {profile}}, plan_of(layout));

    EXPECT_EQ(costs[0].send, 3);
    EXPECT_EQ(costs[0].reduce, 10);  // 1,000 bytes between the two ranks of a node
    EXPECT_EQ(costs[1].send, 3);     // the gradient of stage 0's output
    EXPECT_EQ(costs[1].reduce, 0);
}

TEST(LayerLoads, ArePerRank) {
    const std::vector<layout::LayerLoad> alone = compute_layer_loads(small_profile(2), {});
    const std::vector<layout::LayerLoad> shared =
        compute_layer_loads(small_profile(2), {.state_values = 1, .updating_replicas = 4, .tensor_ranks = 2});

    EXPECT_EQ(alone[1], (layout::LayerLoad{.seconds = 8,
                                           .forward_seconds = 2,
                                           .update_seconds = 16,
                                           .row_bytes = 64,
                                           .parameter_bytes = 2000,
                                           .activation_bytes = 200,
                                           .state_bytes = 8000,
                                           .workspace_bytes = 20}));
    EXPECT_EQ(shared[1], (layout::LayerLoad{.seconds = 4,
                                            .forward_seconds = 1,
                                            .update_seconds = 2,
                                            .row_bytes = 64,
                                            .parameter_bytes = 1000,
                                            .activation_bytes = 200,
                                            .state_bytes = 2250,
                                            .workspace_bytes = 20}));
}

}  // namespace
}  // namespace trireme::plan
