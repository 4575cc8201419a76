#include <gtest/gtest.h>

#include "small_step.hpp"

namespace trireme::policy {
namespace {

constexpr std::array<int, SmallStep::stages> blocks = {2, 2};  // per stage

class ChosenRecomputation : public testing::TestWithParam<const char*> {};

TEST_P(ChosenRecomputation, TakesAsLongAsTheBestOfAllChoices) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 6; ++round) {
        const SmallStep step = draw_step(random, GetParam(), blocks);
        schedule::StepClock clock = make_clock(step, GetParam());
        std::vector<std::vector<PassChoices>> fitting(SmallStep::stages);
        for (std::size_t t = 0; t < SmallStep::stages; ++t)
            visit_choices(step.teams[t], [&](const PassChoices& choices) {
                if (fits(step.teams[t], choices)) fitting[t].push_back(choices);
            });
        double best = std::numeric_limits<double>::infinity();
        for (const PassChoices& first : fitting[0])
            for (const PassChoices& second : fitting[1])
                best = std::min(best, predict_seconds(step, {first, second}, clock));

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        EXPECT_DOUBLE_EQ(predict_seconds(step, chosen->teams, clock), best);
    }
}

// No pass could recompute less.
TEST_P(ChosenRecomputation, HasNoNeedlessPart) {
    std::mt19937_64 random(8);
    for (int round = 0; round < 30; ++round) {
        const SmallStep step = draw_step(random, GetParam(), blocks);
        schedule::StepClock clock = make_clock(step, GetParam());

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        for (std::size_t t = 0; t < SmallStep::stages; ++t) {
            const TeamOptions& team = step.teams[t];
            EXPECT_LE(find_largest(team, chosen->teams[t]), team.max_bytes[0]);
            for (const auto& [key, option] : chosen->teams[t]) {
                PassChoices less = chosen->teams[t];
                for (less[key] = 0; less[key] < option; ++less[key])
                    EXPECT_GT(find_largest(team, less), team.max_bytes[0]);
            }
        }
    }
}

TEST_P(ChosenRecomputation, IsMissingIfNothingFits) {
    std::mt19937_64 random(9);
    SmallStep step = draw_step(random, GetParam(), blocks);
    step.teams[1].max_bytes = {64};
    schedule::StepClock clock = make_clock(step, GetParam());

    EXPECT_FALSE(choose_recomputation(step.teams, step.costs, {}, clock));
}

// Links from fast ones, which make recomputation needless, to slow ones.
TEST_P(ChosenRecomputation, WithOffloadTakesAsLongAsTheBestOfAllChoices) {
    std::mt19937_64 random(10);
    int offloading = 0;
    for (const double time_per_byte : {0.0001, 0.001, 0.004, 0.02, 0.1}) {
        SmallStep step = draw_step(random, GetParam(), blocks);
        permit_offload(random, step, time_per_byte);
        schedule::StepClock clock = make_clock(step, GetParam());
        std::vector<std::vector<PassChoices>> fitting(SmallStep::stages);
        for (std::size_t t = 0; t < SmallStep::stages; ++t) {
            visit_choices(step.teams[t], [&](const PassChoices& choices) {
                if (fits(step.teams[t], choices)) fitting[t].push_back(choices);
            });
        }
        double best = std::numeric_limits<double>::infinity();
        for (const PassChoices& first : fitting[0])
            for (const PassChoices& second : fitting[1])
                best = std::min(best, predict_with_offload(step, {first, second}, clock));

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        const double seconds = predict_with_offload(step, chosen->teams, clock);
        EXPECT_DOUBLE_EQ(seconds, best);
        EXPECT_DOUBLE_EQ(chosen->offload_wait, seconds - predict_seconds(step, chosen->teams, clock));
        for (std::size_t t = 0; t < SmallStep::stages; ++t)
            offloading += find_largest(step.teams[t], chosen->teams[t]) > step.teams[t].max_bytes[0] ? 1 : 0;
    }
    EXPECT_GT(offloading, 0);
    EXPECT_LT(offloading, 5 * SmallStep::stages);
}

INSTANTIATE_TEST_SUITE_P(Schedules, ChosenRecomputation, testing::Values("gpipe", "1f1b"),
                         [](const auto& schedule) { return std::string("of_") + schedule.param; });

}  // namespace
}  // namespace trireme::policy
