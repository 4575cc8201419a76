#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::plan {
namespace {

Plan make_envpipe_plan() {
    return make_plan({.layout = even_grid({.pipe = 3}), .schedule = "envpipe", .microbatches = 6});
}

TEST(ExtraForwards, ChangeTheOrderAndTheHashOfAPlan) {
    Plan plan = make_envpipe_plan();
    const std::string hash = compute_hash(plan);

    set_extra_forwards({2, 1, 0}, plan);

    EXPECT_EQ(plan.training.proof.peak_activations, (std::vector<int>{5, 3, 1}));
    EXPECT_NE(compute_hash(plan), hash);
    EXPECT_NE(to_json(plan).find(R"("extra_forwards":[2,1,0])"), std::string::npos);
}

// A channel holds two messages per slot. The first stage executes six forwards before its first backward.
TEST(ExtraForwards, GetSlotsForTheMessagesThatAreAhead) {
    Plan plan = make_envpipe_plan();

    set_extra_forwards({3, 1, 0}, plan);

    EXPECT_EQ(plan.training.shape.slots, 3);
}

// Passes take up to ten times as long as others.
TEST(ExtraForwards, LetNoPassWaitForASlot) {
    std::mt19937 random(4);
    const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
    for (int trial = 0; trial < 300; ++trial) {
        const int stages = draw(2, 5);
        Plan plan = make_plan(
            {.layout = even_grid({.pipe = stages}), .schedule = "envpipe", .microbatches = draw(1, 12)});
        std::vector<int> extra_forwards;
        for (int stage = 0; stage < stages; ++stage)
            extra_forwards.push_back(draw(0, std::min(4, plan.microbatches())));
        set_extra_forwards(extra_forwards, plan);
        std::vector<std::vector<schedule::StageCost>> costs(static_cast<std::size_t>(stages));
        for (std::vector<schedule::StageCost>& of_stage : costs)
            for (int m = 0; m < plan.microbatches(); ++m)
                of_stage.push_back({.forward = 1.0 * draw(1, 10), .backward_input = 1.0 * draw(1, 10)});

        schedule::PipelineShape many_slots = plan.training.shape;
        many_slots.slots = 1000;
        const schedule::Phases phases =
            lower_phases(generate_phases(schedule::require_schedule("envpipe"), many_slots), many_slots);
        EXPECT_EQ(predict_step(plan.training.phases(), plan.training.shape, schedule::StepCosts(costs)).seconds,
                  predict_step(phases, many_slots, schedule::StepCosts(costs)).seconds)
            << testing::PrintToString(extra_forwards) << " with " << plan.microbatches();
    }
}

TEST(ExtraForwards, MustFitThePlan) {
    const auto refuse = [](const std::vector<int>& extra_forwards, Plan plan) {
        return validation::catch_message<ConfigError>([&] { set_extra_forwards(extra_forwards, plan); });
    };

    EXPECT_EQ(refuse({1, 0, 0}, make_plan({.layout = even_grid({.pipe = 3}), .microbatches = 6})),
              "\"extra_forwards\" needs schedule envpipe, but the schedule is 1f1b");
    EXPECT_EQ(refuse({1, 7, 0}, make_envpipe_plan()),
              "\"extra_forwards\" is 7 for stage 1, but a replica of this stage executes at most 6 "
              "micro-batches in a "
              "step; lower it");
    EXPECT_EQ(refuse({1, 0}, make_envpipe_plan()),
              "\"extra_forwards\" has 2 numbers, but the layout has 3 stages; give one number per stage");
}

}  // namespace
}  // namespace trireme::plan
