#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "small_step.hpp"

namespace trireme::policy {
namespace {

// A choice of one stage that fits.
struct StageChoice {
    PassChoices options;
    std::vector<double> times;  // of passes and of waits for optimizer state
};

std::vector<double> list_times(const TeamOptions& team, const PassChoices& options) {
    std::vector<double> times;
    for (const auto& [key, option] : options)
        times.push_back(team.passes.at(key)[option].extra.compute_pass_time());
    const schedule::OffloadTimes offload = predict_offload(team, options);
    times.push_back(offload.update);
    for (const schedule::BufferUse& use : team.uses) {
        times.push_back(offload.find_begin(use.taker));
        times.push_back(offload.find_return(use.taker));
    }
    return times;
}

// Returns the fitting choices of a stage, except those of which every time is at least that of another one. A
// step never becomes shorter when one of its times becomes longer.
std::vector<StageChoice> list_best_choices(const TeamOptions& team) {
    std::vector<StageChoice> fitting;
    visit_choices(team, [&](const PassChoices& options) {
        if (fits(team, options)) fitting.push_back({.options = options, .times = list_times(team, options)});
    });
    std::ranges::stable_sort(fitting, {}, [](const StageChoice& choice) {
        return std::accumulate(choice.times.begin(), choice.times.end(), 0.0);
    });
    std::vector<StageChoice> best;
    for (StageChoice& choice : fitting) {
        const auto is_as_fast = [&](const StageChoice& other) {
            return std::ranges::equal(other.times, choice.times, std::ranges::less_equal{});
        };
        if (std::ranges::none_of(best, is_as_fast)) best.push_back(std::move(choice));
    }
    return best;
}

double find_least_seconds(const SmallStep& step, schedule::StepClock& clock) {
    double least = std::numeric_limits<double>::infinity();
    const std::vector<StageChoice> second_stage = list_best_choices(step.teams[1]);
    for (const StageChoice& first : list_best_choices(step.teams[0]))
        for (const StageChoice& second : second_stage)
            least = std::min(least, predict_with_offload(step, {first.options, second.options}, clock));
    return least;
}

using BlockCounts = std::array<int, SmallStep::stages>;

// Blocks of a stage are alike. Therefore a choice is the number of blocks of each level, for each stage and
// micro-batch.
class ExhaustiveSearch : public testing::TestWithParam<std::tuple<const char*, BlockCounts>> {};

TEST_P(ExhaustiveSearch, GivesTheSameSecondsForRecomputation) {
    const auto& [name, blocks] = GetParam();
    std::mt19937_64 random(11);
    for (int round = 0; round < 6; ++round) {
        const SmallStep step = draw_step(random, name, blocks);
        schedule::StepClock clock = make_clock(step, name);

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        EXPECT_DOUBLE_EQ(predict_seconds(step, chosen->teams, clock), find_least_seconds(step, clock));
    }
}

// Each stage offloads what its choice needs beyond the limit, as more would only lengthen the waits.
TEST_P(ExhaustiveSearch, GivesTheSameSecondsWithOffload) {
    const auto& [name, blocks] = GetParam();
    std::mt19937_64 random(12);
    for (const double time_per_byte : {0.0001, 0.001, 0.004, 0.02, 0.1}) {
        SmallStep step = draw_step(random, name, blocks);
        permit_offload(random, step, time_per_byte);
        schedule::StepClock clock = make_clock(step, name);

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        EXPECT_DOUBLE_EQ(predict_with_offload(step, chosen->teams, clock), find_least_seconds(step, clock));
    }
}

// Four blocks in all.
INSTANTIATE_TEST_SUITE_P(Steps, ExhaustiveSearch,
                         testing::Combine(testing::Values("gpipe", "1f1b"),
                                          testing::Values(BlockCounts{2, 2}, BlockCounts{1, 3},
                                                          BlockCounts{3, 1})),
                         [](const auto& step) {
                             const BlockCounts& blocks = std::get<1>(step.param);
                             return std::string("of_") + std::get<0>(step.param) + "_with_" +
                                    std::to_string(blocks[0]) + "_and_" + std::to_string(blocks[1]) + "_blocks";
                         });

}  // namespace
}  // namespace trireme::policy
