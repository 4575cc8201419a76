#include <gtest/gtest.h>

#include <string>

#include "unit/policy/published_plans.hpp"

namespace trireme::policy {
namespace {

using StageSizes = std::vector<std::size_t>;

struct OutcomeRow {
    PublishedConditions conditions;
    Outcome outcome;
};

TEST(PublishedDecision, HasAnOutcomeForAllConditions) {
    constexpr OutcomeRow rows[] = {
        {{true, true, true, true}, Outcome::keep},     {{true, true, true, false}, Outcome::keep},
        {{true, true, false, true}, Outcome::keep},    {{true, true, false, false}, Outcome::keep},
        {{true, false, true, true}, Outcome::shrink},  {{true, false, true, false}, Outcome::shrink},
        {{true, false, false, true}, Outcome::shrink}, {{true, false, false, false}, Outcome::shrink},
        {{false, true, true, true}, Outcome::memory},  {{false, true, true, false}, Outcome::grow},
        {{false, true, false, true}, Outcome::grow},   {{false, true, false, false}, Outcome::grow},
        {{false, false, true, true}, Outcome::memory}, {{false, false, true, false}, Outcome::grow},
        {{false, false, false, true}, Outcome::grow},  {{false, false, false, false}, Outcome::grow},
    };

    for (const auto& [conditions, outcome] : rows) {
        EXPECT_EQ(choose_outcome(conditions), outcome)
            << conditions.fits << conditions.change_takes_longer << conditions.memory_plan_fits
            << conditions.memory_plan_is_faster;
    }
}

// 8 blocks on 4 teams with 8 micro-batches. A step needs a byte per 100 tokens of its longest sample, and a
// team has 10 bytes. If a block takes s seconds, a step takes 16 s with one stage, 18 s with 2, 20 s with 3 and
// 22 s with 4 stages.
class FourTeams : public testing::Test {
protected:
    static plan::Observation make_observation(std::uint32_t longest) {
        return {.ahead = {{.step = 7, .lengths = {100, longest, 100}}, {.step = 8, .lengths = {9000}}}};
    }

    static Candidate make_current(std::size_t stages) {
        const std::vector<StageSizes> layers = {{8}, {4, 4}, {4, 2, 2}, {2, 2, 2, 2}};
        const std::vector<StageSizes> replicas = {{4}, {2, 2}, {2, 1, 1}, {1, 1, 1, 1}};
        return {.layout = make_staged_layout(layers[stages - 1], replicas[stages - 1]),
                .microbatches = 8,
                .schedule = "1f1b",
                .causes = {{.proposer = "uneven"}}};
    }

    static PublishedRules make_rules() {
        PublishedRules rules = make_published_rules(8, 4);
        rules.team_bytes = 10;
        rules.peak_bytes = [](const plan::StepAhead& step) { return std::ranges::max(step.lengths) / 100.0; };
        return rules;
    }

    PublishedVerdict decide(std::size_t current_stages, std::uint32_t longest) {
        return decide_published(make_observation(longest), make_current(current_stages), rules_, outlook_);
    }

    void set_memory_plan_seconds(double seconds) {
        rules_.memory_plan_seconds = [=](const plan::StepAhead&) { return std::optional(seconds); };
    }

    PublishedRules rules_ = make_rules();
    StageCountOutlook outlook_{5};  // seconds of a change
};

std::size_t count_stages(const PublishedVerdict& verdict) {
    return verdict.candidate ? verdict.candidate->layout->stages.size() : 0;
}

TEST_F(FourTeams, ShrinkIfThisRepaysTheChange) {
    const PublishedVerdict verdict = decide(4, 1500);

    EXPECT_EQ(verdict.outcome, Outcome::shrink);
    EXPECT_EQ(verdict.peak_bytes, 15);
    EXPECT_EQ(verdict.pooled_bytes, 40);
    EXPECT_DOUBLE_EQ(verdict.current_seconds, 22 * 1.5);
    EXPECT_DOUBLE_EQ(verdict.new_seconds, 18 * 1.5);
    EXPECT_EQ(verdict.change_seconds, 5);
    EXPECT_FALSE(verdict.memory_plan_seconds);
    EXPECT_EQ(verdict.refused_candidates, 0U);
    ASSERT_TRUE(verdict.candidate);
    EXPECT_EQ(verdict.candidate->layout, make_staged_layout({4, 4}, {2, 2}));
    EXPECT_EQ(verdict.candidate->microbatches, 8);
    EXPECT_EQ(verdict.candidate->schedule, "1f1b");
}

TEST_F(FourTeams, ExplainTheNewPlan) {
    const PublishedVerdict verdict = decide(4, 1500);

    ASSERT_TRUE(verdict.candidate);
    ASSERT_EQ(verdict.candidate->causes.size(), 1U);
    const Cause& cause = verdict.candidate->causes.front();
    EXPECT_EQ(cause.proposer, "length");
    EXPECT_EQ(cause.reason, "samples of up to 1,500 tokens fit into 2 stages");
    EXPECT_EQ(cause.terms, (std::map<std::string, double>{{"longest", 1500}, {"stages", 2}}));
}

TEST_F(FourTeams, KeepTheirPlanIfAChangeOnlyRepaysItself) {
    outlook_ = StageCountOutlook(6);

    const PublishedVerdict verdict = decide(4, 1500);

    EXPECT_EQ(verdict.outcome, Outcome::keep);
    EXPECT_TRUE(verdict.conditions.change_takes_longer);
    EXPECT_DOUBLE_EQ(verdict.new_seconds + verdict.change_seconds, verdict.current_seconds);
    EXPECT_FALSE(verdict.candidate);
}

TEST_F(FourTeams, KeepTheirPlanIfItHasTheFewestStages) {
    const PublishedVerdict verdict = decide(3, 2500);

    EXPECT_EQ(verdict.outcome, Outcome::keep);
    EXPECT_EQ(verdict.new_seconds, verdict.current_seconds);
    EXPECT_EQ(verdict.change_seconds, 0);
}

TEST_F(FourTeams, GrowIfAStepDoesNotFit) {
    const PublishedVerdict verdict = decide(2, 3500);

    EXPECT_EQ(verdict.outcome, Outcome::grow);
    EXPECT_FALSE(verdict.conditions.fits);
    EXPECT_FALSE(verdict.conditions.memory_plan_fits);
    ASSERT_TRUE(verdict.candidate);
    EXPECT_EQ(verdict.candidate->layout, make_staged_layout({2, 2, 2, 2}, {1, 1, 1, 1}));
}

// With 3 stages, the step takes 70 s without recomputation and offload. It takes 77 s after a change of 5 s.
TEST_F(FourTeams, UseTheMemoryPlanIfItTakesLessTimeThanGrowing) {
    set_memory_plan_seconds(12);
    const PublishedVerdict verdict = decide(3, 3500);
    EXPECT_EQ(verdict.outcome, Outcome::memory);
    EXPECT_EQ(verdict.memory_plan_seconds, 12);
    EXPECT_FALSE(verdict.candidate);

    set_memory_plan_seconds(12.5);
    const PublishedVerdict other = decide(3, 3500);
    EXPECT_EQ(other.outcome, Outcome::grow);
    EXPECT_TRUE(other.conditions.memory_plan_fits);
    EXPECT_EQ(count_stages(other), 4U);
}

TEST_F(FourTeams, TryMoreStagesIfAPlanIsRefused) {
    outlook_ = StageCountOutlook(1);
    outlook_.impossible_plans = {1};
    outlook_.impossible_changes = {2};

    const PublishedVerdict verdict = decide(4, 750);

    EXPECT_EQ(verdict.outcome, Outcome::shrink);
    EXPECT_EQ(verdict.refused_candidates, 2U);
    EXPECT_EQ(count_stages(verdict), 3U);
}

TEST_F(FourTeams, TryMoreStagesIfTooFewBlocksFitOnATeam) {
    outlook_ = StageCountOutlook(1);
    rules_.max_blocks = [](const plan::StepAhead&) { return 7; };

    const PublishedVerdict verdict = decide(4, 750);

    EXPECT_EQ(verdict.refused_candidates, 1U);
    EXPECT_EQ(count_stages(verdict), 2U);
}

TEST_F(FourTeams, KeepTheirPlanIfAllOthersAreRefused) {
    outlook_.impossible_plans = {1, 2, 3};

    const PublishedVerdict verdict = decide(4, 500);

    EXPECT_EQ(verdict.outcome, Outcome::keep);
    EXPECT_EQ(verdict.refused_candidates, 3U);
    EXPECT_EQ(verdict.new_seconds, verdict.current_seconds);
}

TEST_F(FourTeams, HaveNoCandidateIfTheyCannotGrow) {
    outlook_.impossible_plans = {3, 4};
    set_memory_plan_seconds(2);
    EXPECT_EQ(decide(2, 2500).outcome, Outcome::grow);
    EXPECT_EQ(decide(2, 2500).refused_candidates, 2U);
    EXPECT_FALSE(decide(2, 2500).candidate);

    outlook_.impossible_plans = {1, 2, 3};
    const PublishedVerdict verdict = decide(4, 9000);
    EXPECT_EQ(verdict.outcome, Outcome::grow);
    EXPECT_FALSE(verdict.candidate);
}

TEST_F(FourTeams, TryFewerStagesIfTheirPlanIsImpossible) {
    outlook_.impossible_plans = {3, 4};
    set_memory_plan_seconds(2);

    const PublishedVerdict verdict = decide(4, 9000);

    EXPECT_EQ(verdict.outcome, Outcome::grow);
    EXPECT_FALSE(verdict.conditions.memory_plan_fits);
    EXPECT_EQ(count_stages(verdict), 2U);
}

TEST_F(FourTeams, KeepTheirPlanWithoutStepsAhead) {
    EXPECT_EQ(decide_published({}, make_current(2), rules_, outlook_).outcome, Outcome::keep);
}

TEST_F(FourTeams, CountTheSlownessOfTheirCurrentPlan) {
    plan::Observation observed = make_observation(1000);
    observed.slowness = {1, 1, 1, 3};

    const PublishedVerdict verdict = decide_published(observed, make_current(2), rules_, outlook_);

    EXPECT_DOUBLE_EQ(verdict.current_seconds, 2 + 6 + 7 * 6);
}

// Changes the plan as the verdicts say, for lengths that alternate. Returns the number of changes.
template <class Decide>
int count_changes(std::size_t stages, std::uint32_t first, std::uint32_t second, Decide&& decide) {
    int changes = 0;
    for (int step = 0; step < 20; ++step) {
        const PublishedVerdict verdict = decide(stages, step % 2 == 0 ? first : second);
        if (!verdict.candidate) continue;
        stages = count_stages(verdict);
        ++changes;
    }
    return changes;
}

TEST_F(FourTeams, NeverChangeForLengthsThatAlternateIfAStepDoesNotRepayIt) {
    const auto decide_step = [&](std::size_t stages, std::uint32_t longest) { return decide(stages, longest); };
    outlook_ = StageCountOutlook(6);
    EXPECT_EQ(count_changes(4, 3500, 2500, decide_step), 0);
    set_memory_plan_seconds(12);
    EXPECT_EQ(count_changes(3, 3500, 2500, decide_step), 0);

    outlook_ = StageCountOutlook(1);
    EXPECT_GT(count_changes(4, 3500, 2500, decide_step), 0);
}

}  // namespace
}  // namespace trireme::policy
