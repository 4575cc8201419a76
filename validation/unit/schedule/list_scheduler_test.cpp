#include "schedule/search/list_scheduler.hpp"

#include <gtest/gtest.h>

#include "trireme/schedule/generate.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Texts = std::vector<std::string>;

struct Case {
    PipelineShape shape;
    std::vector<StageCost> costs;
    bool may_split = true;
};

std::vector<Program> programs(const Case& of, const ListRule& rule) {
    const StageHoldings holdings(of.shape);
    const std::vector<bool> may_split(of.costs.size(), of.may_split);
    return ListScheduler(of.shape, holdings, of.costs, may_split).make_programs(rule);
}

Texts texts(const Case& of, const ListRule& rule) {
    Texts all;
    for (const Program& program : programs(of, rule)) all.push_back(to_string(program));
    return all;
}

ListRule for_all(std::size_t teams, const TeamRule& rule) {
    return {.teams = std::vector<TeamRule>(teams, rule)};
}

const Case two_stages{make_grid_shape(2, 1, 1, 3), std::vector<StageCost>(2)};

TEST(ListScheduler, ReproducesOneForwardOneBackwardWithItsMemoryLimits) {
    for (int pipe = 1; pipe <= 5; ++pipe) {
        for (int microbatches = 1; microbatches <= 8; ++microbatches) {
            const PipelineShape shape = make_grid_shape(pipe, 1, 1, microbatches);
            ListRule rule;
            for (int team = 0; team < pipe; ++team) rule.teams.push_back({.max_activations = pipe - team});
            const Case unsplit{shape, std::vector<StageCost>(shape.holders.size()), false};

            EXPECT_EQ(programs(unsplit, rule), generate(require_schedule("1f1b"), shape));
        }
    }
}

//   team 0   F0 F1 F2 I0 W0 I1 W1 I2 W2
//   team 1      F0 I0 F1 I1 F2 I2 W0 W1 W2
TEST(ListScheduler, DelaysWeightHalvesUntilNothingElseIsReady) {
    const TeamRule rule{.preference = Preference::i_f_w, .max_activations = 3};

    EXPECT_EQ(texts(two_stages, for_all(2, rule)),
              (Texts{"0F0 0F1 0F2 0I0 0W0 0I1 0W1 0I2 0W2", "1F0 1I0 1F1 1I1 1F2 1I2 1W0 1W1 1W2"}));
}

TEST(ListScheduler, FollowsThePreferenceOfTheRule) {
    const TeamRule forwards{.preference = Preference::f_i_w, .max_activations = 3};
    const TeamRule weights{.preference = Preference::w_f_i, .max_activations = 3};

    EXPECT_EQ(texts(two_stages, for_all(2, forwards))[1], "1F0 1F1 1F2 1I0 1I1 1I2 1W0 1W1 1W2");
    EXPECT_EQ(texts(two_stages, for_all(2, weights))[0], "0F0 0F1 0F2 0I0 0W0 0I1 0W1 0I2 0W2");
}

TEST(ListScheduler, KeepsActivationLimitsOfTheRuleAndTheShape) {
    Case bounded = two_stages;
    bounded.shape.max_activations = {3, 1};
    const TeamRule one{.max_activations = 1};
    const TeamRule many{.max_activations = 3};

    EXPECT_EQ(texts(two_stages, for_all(2, one))[0], "0F0 0I0 0W0 0F1 0I1 0W1 0F2 0I2 0W2");
    EXPECT_EQ(texts(bounded, for_all(2, many))[1], "1F0 1I0 1W0 1F1 1I1 1W1 1F2 1I2 1W2");
}

// After I0 a weight half would run from 3.5 to 7.5, and F1 arrives at 4. After I1 it would begin at 5.5, and F2
// arrives at 7.
TEST(ListScheduler, DelaysWeightHalvesIfOtherWorkArrivesSoonEnough) {
    Case slow = two_stages;
    slow.costs = {{.forward = 2}, {.forward = 1, .backward_input = 0.5, .backward_weight = 4}};
    TeamRule rule{.max_activations = 3};

    rule.delay_fraction = 0.125;
    EXPECT_EQ(texts(slow, for_all(2, rule))[1], "1F0 1I0 1W0 1F1 1I1 1F2 1I2 1W1 1W2");
    rule.delay_fraction = 0.25;
    EXPECT_EQ(texts(slow, for_all(2, rule))[1], "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2");
    rule.delay_fraction = 0.5;
    EXPECT_EQ(texts(slow, for_all(2, rule))[1], "1F0 1I0 1F1 1I1 1F2 1I2 1W0 1W1 1W2");
}

TEST(ListScheduler, KeepsBackwardsUnsplitWhereRequired) {
    const TeamRule rule{.max_activations = 3};
    ListRule first_unsplit = for_all(2, rule);
    first_unsplit.teams[0].splits_no_backward = true;
    Case unsplit = two_stages;
    unsplit.may_split = false;

    EXPECT_EQ(texts(two_stages, first_unsplit),
              (Texts{"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1I0 1F1 1I1 1F2 1I2 1W0 1W1 1W2"}));
    EXPECT_EQ(texts(unsplit, for_all(2, rule))[1], "1F0 1B0 1F1 1B1 1F2 1B2");
}

// With two stages in a team and memory for one micro-batch, a second micro-batch would block the return of the
// first.
TEST(ListScheduler, AvoidsDeadlocksUnderATightMemoryLimit) {
    const Case chunks{make_grid_shape(2, 1, 2, 3), std::vector<StageCost>(4)};

    const std::vector<Program> made = programs(chunks, for_all(2, {.max_activations = 1}));

    EXPECT_EQ(to_string(made[0]), "0F0 2F0 2I0 2W0 0I0 0F1 0W0 2F1 2I1 2W1 0I1 0F2 0W1 2F2 2I2 2W2 0I2 0W2");
}

TEST(ListScheduler, SchedulesForwardOnlyPipelines) {
    const Case forwards{make_grid_shape(2, 1, 1, 3, false), std::vector<StageCost>(2)};

    EXPECT_EQ(texts(forwards, for_all(2, {})), (Texts{"0F0 0F1 0F2", "1F0 1F1 1F2"}));
}

}  // namespace
}  // namespace trireme::schedule
