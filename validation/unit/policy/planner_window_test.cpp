#include <gtest/gtest.h>

#include <limits>

#include "unit/policy/window_outlook.hpp"

namespace trireme::policy {
namespace {

using Row = std::vector<std::optional<double>>;
constexpr std::nullopt_t impossible = std::nullopt;

// Plan 1 is faster in three of eight steps. The change there and the change back take `change_seconds` each.
std::optional<Verdict> decide_excursion(double change_seconds, double min_gain) {
    return decide_ahead(WindowTables::with_equal_changes({Row{4, 4, 4, 1, 1, 1, 1, 1},  //
                                                          Row{2, 2, 2, 9, 9, 9, 9, 9}},
                                                         change_seconds),
                        {.horizon = 100, .min_gain = min_gain});
}

TEST(PlannerWindow, MakesAnExcursionIfItRepaysBothChanges) {
    const std::optional<Verdict> verdict = decide_excursion(2.9, 0.01);

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 1U);
    EXPECT_EQ(verdict->change_seconds, 2.9);
    EXPECT_DOUBLE_EQ(verdict->current_seconds, 12);  // until the return
    EXPECT_DOUBLE_EQ(verdict->path_seconds, 6 + 2 * 2.9);
    EXPECT_DOUBLE_EQ(verdict->current_step_seconds, 17 / 8.0);
    EXPECT_DOUBLE_EQ(verdict->step_seconds, 51 / 8.0);
    // No refusal is reported, because the mean steps of plan 1 are longer.
    EXPECT_FALSE(decide_excursion(3.1, 0));
}

// The gain of 1.2 s is 10 % of the excursion, but only 0.5 % of the time until the horizon.
TEST(PlannerWindow, RequiresTheMinimumGainOfTheTimeOfAnExcursion) {
    EXPECT_TRUE(decide_excursion(2.4, 0.09));
    EXPECT_FALSE(decide_excursion(2.4, 0.11));
}

// The gain of 1.2 s is 7 % of the time of the eight steps ahead.
TEST(PlannerWindow, RequiresTheMinimumGainOfTheTimeOfAMinimumOfSteps) {
    const auto decide = [](double min_gain) {
        return decide_ahead(WindowTables::with_equal_changes({Row{4, 4, 4, 1, 1, 1, 1, 1},  //
                                                              Row{2, 2, 2, 9, 9, 9, 9, 9}},
                                                             2.4),
                            {.horizon = 100, .min_gain = min_gain, .min_steps = 8});
    };

    ASSERT_TRUE(decide(0.06));
    EXPECT_DOUBLE_EQ(decide(0.06)->current_seconds, 17);
    EXPECT_DOUBLE_EQ(decide(0.06)->path_seconds, 6 + 2 * 2.4 + 5);
    EXPECT_FALSE(decide(0.08));
}

TEST(PlannerWindow, KeepsThePlanIfOneStepDoesNotRepayAChange) {
    const auto alternating = [](double change_seconds) {
        return WindowTables::with_equal_changes({Row{3, 1, 3, 1, 3, 1, 3, 1}, Row{1, 3, 1, 3, 1, 3, 1, 3}},
                                                change_seconds);
    };

    EXPECT_FALSE(decide_ahead(alternating(1.1), {.horizon = 8}));
    EXPECT_TRUE(decide_ahead(alternating(0.9), {.horizon = 8}));
}

TEST(PlannerWindow, LeavesAPlanThatCannotExecuteTheNextStep) {
    const WindowTables tables = WindowTables::with_equal_changes(
        {Row{impossible, 1, 1, 1}, Row{5, 5, 5, 5}, Row{9, 9, 9, 9}, Row{impossible, 0.1, 0.1, 0.1}}, 50);

    const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = 4});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 1U);
    // The current plan would need the change to plan 1 and back in the first step.
    EXPECT_DOUBLE_EQ(verdict->current_step_seconds, (5 + 2 * 50 + 3) / 4.0);
}

TEST(PlannerWindow, LeavesAPlanWithoutGain) {
    WindowTables tables = WindowTables::with_equal_changes({Row{impossible, 1}, Row{9, 9}, Row{7, 7}}, 0);
    tables.predictions = {0, 100, impossible};

    const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = 2});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 1U);
    EXPECT_GT(verdict->path_seconds, verdict->current_seconds);
    tables.predictions[1] = impossible;
    EXPECT_FALSE(decide_ahead(tables, {.horizon = 2}));
}

TEST(PlannerWindow, DecidesNothingIfNoPlanCanExecuteTheNextStep) {
    EXPECT_FALSE(decide_ahead(WindowTables::with_equal_changes({Row{impossible, 9}, Row{impossible, 1}}, 0),
                              {.horizon = 100}));
}

// The third step takes no time in any plan, and the second one forces a change before it.
TEST(PlannerWindow, AllowsLaterStepsThatNoPlanCanExecute) {
    const WindowTables tables =
        WindowTables::with_equal_changes({Row{3, impossible, impossible, 3}, Row{2, 2, impossible, 2}}, 0.5);

    const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = 4});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_DOUBLE_EQ(verdict->path_seconds, 0.5 + 2 + 2 + 2);
    EXPECT_DOUBLE_EQ(verdict->current_seconds, 3 + (2 + 2 * 0.5) + 3);
}

// After the steps ahead, the mean step counts until the horizon.
TEST(PlannerWindow, CountsTheStepsUntilTheHorizon) {
    const WindowTables tables = WindowTables::with_equal_changes({Row{4, 2}, Row{3, 1}}, 5.5);

    for (std::size_t horizon = 1; horizon < 12; ++horizon) {
        const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = horizon, .min_gain = 0});

        ASSERT_TRUE(verdict);
        EXPECT_EQ(verdict->pays_off, horizon >= 6) << horizon;
        EXPECT_DOUBLE_EQ(verdict->path_seconds, horizon == 1 ? 8.5 : 5.5 + 2.0 * static_cast<double>(horizon));
    }
}

TEST(PlannerWindow, IgnoresStepsAfterTheHorizon) {
    const WindowTables tables =
        WindowTables::with_equal_changes({Row{4, 4, 4, 1}, Row{3, 3, 3, 100}, Row{5, 5, 5, 0}}, 0.1);

    const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = 3});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 1U);
    EXPECT_DOUBLE_EQ(verdict->path_seconds, 9.1);
}

// Both changes lead to a total of 10 s, and plan 1 is considered first.
TEST(PlannerWindow, PrefersThePathThatEndsWithTheShortestSteps) {
    WindowTables tables = WindowTables::with_equal_changes({Row{20, 20}, Row{1, 9}, Row{4, 4}}, 10);
    tables.estimates[0] = {0, 0, 2};
    tables.predictions = {0, 0, 2};

    const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = 2});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 2U);
}

// Plan 2 cannot execute the first step, and no change leaves it.
TEST(PlannerWindow, AllowsPathsToAPlanWithoutAChangeBack) {
    WindowTables tables =
        WindowTables::with_equal_changes({Row{5, 5}, Row{1, impossible}, Row{impossible, 1}}, 0.1);
    tables.estimates[1][0] = 20;
    tables.estimates[2].assign(3, std::numeric_limits<double>::infinity());

    const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = 2});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 1U);
    EXPECT_DOUBLE_EQ(verdict->path_seconds, 0.1 + 1 + 0.1 + 1);
}

// Plan 1 is the best one by the estimates, but the change takes longer. The change to plan 2 is impossible, and
// plans 4 and 5 cannot be better than plan 3.
TEST(PlannerWindow, PredictsChangesOnlyToCandidatesThatMayBeTheBest) {
    WindowTables tables = WindowTables::with_equal_changes(
        {Row(4, 10), Row(4, 5), Row(4, 6), Row(4, 7), Row(4, 8), Row(4, 11)}, 1);
    tables.predictions = {0, 30, impossible, 1, 1, 1};
    WindowOutlook outlook(tables);

    const std::optional<Verdict> verdict = decide_ahead(tables, outlook, {.horizon = 4});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 3U);
    EXPECT_EQ(outlook.predicted_changes, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(PlannerWindow, PredictsNoChangeIfThePlanStays) {
    const WindowTables tables = WindowTables::with_equal_changes({Row(4, 10), Row(4, 10.1), Row(4, 12)}, 0);
    WindowOutlook outlook(tables);

    EXPECT_FALSE(decide_ahead(tables, outlook, {.horizon = 40}));
    EXPECT_TRUE(outlook.predicted_changes.empty());
}

// Otherwise the change would be postponed by one step again and again, because only the next step's change has
// been predicted.
TEST(PlannerWindow, DoesNotPostponeAChangeThatTakesLongerThanEstimated) {
    WindowTables tables = WindowTables::with_equal_changes({Row(4, 10), Row(4, 9)}, 0);
    tables.predictions[1] = 3;

    const std::optional<Verdict> verdict = decide_ahead(tables, {.horizon = 100});

    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->pays_off);
    EXPECT_EQ(verdict->path_seconds, 903);
}

// Plan 40 + s is the fastest one in step s, and very slow in all others. The other plans are faster in the
// mean.
TEST(PlannerWindow, KeepsTheFastestCandidateOfEveryStepAheadOfALaterProposer) {
    constexpr std::size_t steps = 8;
    WindowTables tables;
    tables.steps.assign(40 + steps, Row(steps, 10));
    for (std::size_t step = 0; step < steps; ++step) {
        tables.steps[40 + step].assign(steps, 1000);
        tables.steps[40 + step][step] = 1;
    }
    tables = WindowTables::with_equal_changes(tables.steps, 0);
    std::vector<std::size_t> numbers, kept;
    for (std::size_t plan = 1; plan < tables.steps.size(); ++plan) numbers.push_back(plan);
    const Proposer note_kept = [&](const plan::Observation&, const Candidate& candidate) {
        kept.push_back(candidate.layout->layers);
        return std::vector<Candidate>{};
    };
    plan::Observation observed;
    for (std::size_t step = 0; step < steps; ++step) observed.ahead.push_back({.step = step});
    WindowOutlook outlook(tables);

    decide(observed, make_candidate(0), std::vector{propose(numbers), note_kept}, outlook, {.horizon = steps});

    std::vector<std::size_t> expected{0, 40, 41, 42, 43, 44, 45, 46, 47};
    for (std::size_t plan = 1; expected.size() < 32; ++plan) expected.push_back(plan);
    EXPECT_EQ(kept, expected);
}

TEST(PlannerWindow, DropsCandidatesThatCannotExecuteAnyStepAhead) {
    const WindowTables tables = WindowTables::with_equal_changes(
        {Row{2, 2, 2}, Row{impossible, impossible, 1}, Row{impossible, 1, impossible}}, 0);
    std::vector<std::size_t> kept;
    const Proposer note_kept = [&](const plan::Observation&, const Candidate& candidate) {
        kept.push_back(candidate.layout->layers);
        return std::vector<Candidate>{};
    };
    WindowOutlook outlook(tables);
    const plan::Observation observed{.ahead = {{.step = 0}, {.step = 1}, {.step = 2}}};

    decide(observed, make_candidate(0), std::vector{propose({1, 2}), note_kept}, outlook, {.horizon = 2});

    EXPECT_EQ(kept, (std::vector<std::size_t>{0, 2}));
}

}  // namespace
}  // namespace trireme::policy
