// Costs of stages on the machine that profiles describe.
#include <gtest/gtest.h>

#include "trireme/model/model.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/step_costs.hpp"
#include "unit/plan/small_profile.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::slower;
using validation::small_gpt2;
using validation::small_profile;

constexpr double rounding = 1e-8;  // kernel times are whole picoseconds

const model::ModelConfig& small_model() {
    static const model::ModelConfig model = small_gpt2(false);
    return model;
}

// Layer l takes l + 1 seconds forward, three times as long backward, or twice as long for each half of the
// backward pass, and eight times as long for the update. The micro-batch has two samples of 5 tokens.
plan::Profile profile_without_kernels() {
    plan::Profile profile = small_profile(build_layers(small_model()).size());
    profile.microbatch = plan::make_equal_length_shape(2, 10);
    return profile;
}

// The time of every kernel is proportional to its bytes.
plan::Profile profile_with_kernels() {
    plan::Profile profile = profile_without_kernels();
    for (const char* kernel : {"linear", "adamw", "attention", "layer_norm", "fill"})
        profile.kernels.push_back(
            {.kernel = kernel, .call = {.flops = 1, .bytes = 1e-6}, .calls = 1, .seconds = 1e-12});
    return profile;
}

// Stage 0 has layers 0 to 2, which take 1 + 2 + 3 seconds forward; stage 1 has layers 3 to 6, which take 22.
layout::Layout two_stages(std::vector<layout::ReplicaLayout> first, std::vector<layout::ReplicaLayout> second) {
    return {.layers = 7, .stages = {{{0, 3}, std::move(first)}, {{3, 4}, std::move(second)}}};
}

const layout::Layout plain = two_stages({{{0}, {1}}}, {{{1}, {1}}});

plan::Plan plan_of(const layout::Layout& layout, std::vector<plan::Recompute> recompute = {}) {
    return plan::make_plan({.layout = layout, .microbatches = 2, .recompute = std::move(recompute)});
}

schedule::StepCosts predict(const plan::RankProfiles& profiles, const plan::Plan& plan,
                            const std::vector<plan::MicrobatchShape>& microbatches,
                            std::vector<bool> splits_backward = {}) {
    const std::vector<stage::BatchShape> no_shapes;
    const stage::GradientPlan gradients =
        make_gradient_plan({small_model(), plan, device::DType::f32, no_shapes});
    const optim::OptimizerConfig optimizer;
    const PricedPlan priced{small_model(), plan,      device::DType::f32,
                            optimizer,     gradients, std::move(splits_backward)};
    const Machine machine = make_profiled_machine(std::make_shared<const plan::RankProfiles>(profiles), 4);
    return StepCostPredictor(priced, machine).predict(microbatches);
}

std::vector<plan::MicrobatchShape> measured_microbatches(const plan::Plan& plan) {
    return {static_cast<std::size_t>(plan.microbatches()), plan::make_equal_length_shape(2, 10)};
}

void expect_near(double value, double expected) { EXPECT_NEAR(value, expected, rounding * expected); }

TEST(ProfiledCosts, AreTheMeasuredCostsOfTheLayersForTheMeasuredMicrobatch) {
    const plan::Plan plan = plan_of(plain);
    for (const plan::Profile& profile : {profile_without_kernels(), profile_with_kernels()}) {
        const schedule::StepCosts costs = predict({.kinds = {profile}}, plan, measured_microbatches(plan));

        expect_near(costs.find(0, 0).forward, 6);
        expect_near(costs.find(0, 0).step, 48);
        expect_near(costs.find(1, 1).forward, 22);
        expect_near(costs.find(1, 1).backward_input + costs.find(1, 1).backward_weight, 66);
        expect_near(costs.find(1, 1).step, 176);
        EXPECT_EQ(costs.find(1, 1).send, 0);
        EXPECT_EQ(costs.find(1, 1).reduce, 0);
    }
}

TEST(ProfiledCosts, AreThoseOfTheHalvesIfTheBackwardPassIsSplit) {
    const plan::Plan plan = plan_of(plain);

    const schedule::StepCosts costs =
        predict({.kinds = {profile_without_kernels()}}, plan, measured_microbatches(plan), {true, false});

    expect_near(costs.find(0, 0).backward_input, 12);
    expect_near(costs.find(0, 0).backward_weight, 12);
    expect_near(costs.find(1, 0).compute_pass_time(), 22 + 66);
}

TEST(ProfiledCosts, IncludeTheForwardPassAgainIfItIsRecomputed) {
    const plan::Plan plan = plan_of(plain, {plan::Recompute::full, plan::Recompute::none});

    const schedule::StepCosts costs =
        predict({.kinds = {profile_without_kernels()}}, plan, measured_microbatches(plan));

    expect_near(costs.find(0, 0).compute_pass_time(), 6 + 18 + 6);
    expect_near(costs.find(1, 0).compute_pass_time(), 22 + 66);
}

TEST(ProfiledCosts, FollowTheKernelsForOtherShapes) {
    const plan::Plan plan = plan_of(plain);
    const std::vector<plan::MicrobatchShape> shapes{plan::make_equal_length_shape(4, 20),
                                                    plan::make_equal_length_shape(1, 10)};
    const schedule::StepCosts costs = predict({.kinds = {profile_with_kernels()}}, plan, shapes);

    // Twice the samples have twice the bytes, apart from weights. A longer sample has more in its attention.
    EXPECT_GT(costs.find(0, 0).forward, 1.5 * 6);
    EXPECT_LT(costs.find(0, 0).forward, 2 * 6 + rounding);
    EXPECT_GT(costs.find(0, 1).forward, 0.99 * 6);
    EXPECT_LT(costs.find(0, 1).forward, 1.5 * 6);
}

// Two frozen blocks end in stage 1, which therefore uses the cache; stage 0 is frozen as a whole. Reading or
// writing the two samples of a micro-batch takes 1.5 seconds.
TEST(ProfiledCosts, AreThoseOfTheSamplesThatAreNotCached) {
    const plan::Plan plan = plan::make_plan({.layout = plain, .microbatches = 2, .frozen = 2});
    const std::vector<stage::BatchShape> no_shapes;
    const stage::GradientPlan gradients =
        make_gradient_plan({small_model(), plan, device::DType::f32, no_shapes});
    const optim::OptimizerConfig optimizer;
    const layout::Link link{.latency = 0.25,
                            .bandwidth = 10 * static_cast<double>(small_model().width * sizeof(float))};
    const PricedPlan priced{.model = small_model(),
                            .plan = plan,
                            .dtype = device::DType::f32,
                            .optimizer = optimizer,
                            .gradients = gradients,
                            .cache_link = link};
    const Machine machine = make_profiled_machine(
        std::make_shared<const plan::RankProfiles>(plan::RankProfiles{.kinds = {profile_without_kernels()}}),
        4);
    StepCostPredictor predictor(priced, machine);
    const auto predict_forward = [&](const CachedShares& cached, int stage) {
        return predictor.predict(measured_microbatches(plan), {}, cached).find(stage, 0).forward;
    };

    const double all = predict_forward({}, 1);
    const double frozen = all + 1.5 - predict_forward({.placed = 1, .at_depth = 1}, 1);
    EXPECT_GT(frozen, 0.5 * all);  // the other layers are a norm and a small head
    EXPECT_LT(frozen, all);
    expect_near(predict_forward({.placed = 1}, 1), all + 1.5);
    expect_near(predict_forward({.placed = 0.5, .at_depth = 0.5}, 1), all + 0.75 - 0.5 * frozen);
    // An entry with one block, after which stage 1 begins, saves nothing. It is read, and then replaced.
    expect_near(predict_forward({.placed = 1, .at_earlier_depth = 1, .earlier_depth = 1}, 1), all + 3);
    EXPECT_EQ(predict_forward({.placed = 1, .at_depth = 1}, 0), predict_forward({}, 0));
}

// Replica 1 of stage 0 takes twice as long; in stage 1, the rank with a quarter of the work is eight times
// slower.
TEST(ProfiledCosts, AreThoseOfTheDeviceOfEachReplica) {
    const plan::Plan plan = plan_of(two_stages({{{0}, {1}}, {{1}, {1}}}, {{{2, 3}, {3, 1}}}));
    const plan::RankProfiles profiles{.kinds = {profile_without_kernels(), slower(profile_without_kernels(), 2),
                                                slower(profile_without_kernels(), 8)},
                                      .kind_of_rank = {0, 1, 0, 2}};
    const plan::RankProfiles equal_devices{.kinds = {profile_without_kernels()}};

    const schedule::StepCosts costs = predict(profiles, plan, measured_microbatches(plan));
    const schedule::StepCosts equal_costs = predict(equal_devices, plan, measured_microbatches(plan));

    const int other = costs.find(0, 0).forward < 7 ? 1 : 0;
    expect_near(costs.find(0, 1 - other).forward, 6);
    expect_near(costs.find(0, other).forward, 12);
    expect_near(costs.find(0, other).step, 2 * equal_costs.find(0, other).step);
    EXPECT_GT(costs.find(1, 0).forward, 1.5 * equal_costs.find(1, 0).forward);
    EXPECT_LT(equal_costs.find(1, 0).forward, 22);
}

// Each kind of rank was measured among ranks of its kind. Between two kinds, the slower link counts. A message
// has 10 rows of 12 values of 4 bytes.
TEST(ProfiledCosts, UseTheSlowerLinkBetweenDifferentKindsOfRanks) {
    const plan::Plan plan = plan_of(plain);
    plan::RankProfiles profiles{.kinds = {profile_without_kernels(), profile_without_kernels()},
                                .kind_of_rank = {0, 1}};
    profiles.kinds[0].links = {{.link = {.bandwidth = 64}}};
    profiles.kinds[1].links = {{.link = {.bandwidth = 16}}};
    const double bytes = 10.0 * 4 * static_cast<double>(small_model().width);

    EXPECT_EQ(predict(profiles, plan, measured_microbatches(plan)).find(0, 0).send, bytes / 16);
    profiles.kinds[1].links.clear();
    EXPECT_EQ(predict(profiles, plan, measured_microbatches(plan)).find(1, 0).send, bytes / 64);
}

// Ranks 0 and 1 share a node, so that their gradients use the faster link, and messages to rank 2 the slower.
TEST(ProfiledCosts, UseTheLinkOfTheSmallestGroupThatHasBothRanks) {
    const plan::Plan plan = plan_of(two_stages({{{0}, {1}}, {{1}, {1}}}, {{{2}, {1}}}));
    plan::Profile profile = profile_without_kernels();
    const auto find = [&](double inside) {
        profile.links = {{.ranks = 2, .link = {.bandwidth = inside}},
                         {.link = {.latency = 1, .bandwidth = 1e4}}};
        return predict({.kinds = {profile}}, plan, measured_microbatches(plan)).find(0, 0);
    };
    const schedule::StageCost fast = find(1e6);
    const schedule::StageCost slow = find(1e3);

    EXPECT_EQ(fast.send, slow.send);
    EXPECT_GT(fast.send, 1);
    EXPECT_GT(slow.reduce + slow.step, fast.reduce + fast.step);
}

}  // namespace
}  // namespace trireme::setup
