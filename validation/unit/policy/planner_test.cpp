#include "trireme/policy/planner.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "unit/policy/numbered_plans.hpp"

namespace trireme::policy {
namespace {

// Predictions from tables, by the numbers of the plans, for equal steps ahead. Plans and changes that a table
// lacks are impossible.
class TableOutlook final : public Outlook {
public:
    TableOutlook(std::map<std::size_t, double> steps, std::map<std::size_t, double> changes)
        : steps_(std::move(steps)), changes_(std::move(changes)) {}

    std::optional<StepOutlook> predict_step(const Candidate& candidate, const plan::StepAhead&) override {
        ++predicted_steps;
        const std::optional<double> seconds = find(steps_, candidate);
        return seconds ? std::optional(StepOutlook{.seconds = *seconds}) : std::nullopt;
    }
    double estimate_change_seconds(const Candidate&, const Candidate&) override { return 0; }
    std::optional<double> predict_change_seconds(const Candidate& candidate) override {
        ++predicted_changes;
        return find(changes_, candidate);
    }

    int predicted_steps = 0;
    int predicted_changes = 0;

private:
    static std::optional<double> find(const std::map<std::size_t, double>& table, const Candidate& candidate) {
        const auto entry = table.find(candidate.layout->layers);
        return entry == table.end() ? std::nullopt : std::optional(entry->second);
    }

    std::map<std::size_t, double> steps_, changes_;
};

std::optional<Verdict> decide_among(const std::vector<Proposer>& proposers, TableOutlook& outlook,
                                    std::size_t horizon, double min_gain = 0) {
    return decide({}, make_candidate(1), proposers, outlook, {.horizon = horizon, .min_gain = min_gain});
}

// The best layout depends on the number of steps in which a change must pay off. The expected layout comes from
// a comparison of all sums.
TEST(Planner, ChoosesTheLeastTimeUntilTheHorizon) {
    const std::map<std::size_t, double> steps{{1, 10}, {2, 9}, {3, 7}, {4, 6.5}, {5, 12}};
    const std::map<std::size_t, double> changes{{2, 1}, {3, 20}, {4, 90.3}, {5, 0}};
    for (std::size_t horizon = 1; horizon <= 200; ++horizon) {
        TableOutlook outlook(steps, changes);
        const auto sum = [&](std::size_t number) {
            const double change = number == 1 ? 0 : changes.at(number);
            return change + static_cast<double>(horizon) * steps.at(number);
        };
        std::size_t best = 1;
        for (const auto& [number, seconds] : steps)
            if (sum(number) < sum(best)) best = number;

        const std::optional<Verdict> verdict = decide_among({propose({5, 4, 3, 2})}, outlook, horizon);

        ASSERT_TRUE(verdict);
        EXPECT_EQ(verdict->pays_off, best != 1) << horizon;
        if (best != 1) {
            EXPECT_EQ(verdict->candidate.layout->layers, best) << horizon;
        }
    }
}

TEST(Planner, ReturnsTheFastestLayoutIfNoChangePaysOff) {
    TableOutlook outlook({{1, 10}, {2, 9}, {3, 8}}, {{2, 5}, {3, 100}});

    const std::optional<Verdict> verdict = decide_among({propose({2, 3})}, outlook, 4);

    ASSERT_TRUE(verdict);
    EXPECT_FALSE(verdict->pays_off);
    EXPECT_EQ(verdict->candidate.layout->layers, 3U);
    EXPECT_EQ(verdict->change_seconds, 100);
    EXPECT_EQ(verdict->current_step_seconds, 10);
    EXPECT_EQ(verdict->step_seconds, 8);
}

TEST(Planner, RequiresTheMinimumGain) {
    for (const auto& [seconds, change, is_shorter, pays_off] :
         {std::tuple{9.95, 0.0, false, false}, {9.8, 0.0, true, true}, {9.8, 11.0, true, false}}) {
        TableOutlook outlook({{1, 10}, {2, seconds}}, {{2, change}});

        const std::optional<Verdict> verdict = decide_among({propose({2})}, outlook, 100, 0.01);

        ASSERT_EQ(verdict.has_value(), is_shorter);
        if (verdict) {
            EXPECT_EQ(verdict->pays_off, pays_off);
        }
    }
}

TEST(Planner, SkipsImpossibleLayoutsAndChanges) {
    TableOutlook outlook({{1, 10}, {2, 1}, {3, 5}}, {{3, 0}});

    const std::optional<Verdict> verdict = decide_among({propose({7, 2, 3})}, outlook, 10);

    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->candidate.layout->layers, 3U);
    EXPECT_FALSE(decide_among({propose({7, 2})}, outlook, 10));
    EXPECT_FALSE(decide_among({propose({1})}, outlook, 10));
}

// A later proposer varies the candidates of an earlier one, so that a layout may have two causes.
TEST(Planner, LetsLaterProposersVaryEarlierCandidates) {
    TableOutlook outlook({{1, 10}, {2, 8}, {6, 4}, {5, 9}}, {{2, 0}, {6, 0}, {5, 0}});
    const Proposer add_four = [](const plan::Observation& observed, const Candidate& from) {
        return propose({from.layout->layers + 4})(observed, from);
    };

    const std::optional<Verdict> verdict = decide_among({propose({2}), add_four}, outlook, 10);

    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->candidate.layout->layers, 6U);
    ASSERT_EQ(verdict->candidate.causes.size(), 2U);
    EXPECT_EQ(verdict->candidate.causes[0].proposer, "2");
    EXPECT_EQ(verdict->candidate.causes[1].proposer, "6");
}

TEST(Planner, PredictsEqualPlansOnce) {
    TableOutlook outlook({{1, 10}, {2, 9}}, {{2, 0}});
    const Proposer vary_all = [](const plan::Observation&, const Candidate& from) {
        std::vector<Candidate> candidates(5, from);
        candidates[1].layout = layout::Layout{.layers = 2};
        candidates[2].microbatches = 8;
        candidates[3].schedule = "zb-h2";
        candidates[4].causes = {{.proposer = "only another cause"}};
        return candidates;
    };

    ASSERT_TRUE(decide_among({vary_all, propose({1, 2})}, outlook, 10));

    EXPECT_EQ(outlook.predicted_steps, 4);
}

TEST(Planner, DecidesNothingWithoutAStepUntilTheHorizon) {
    TableOutlook outlook({{1, 10}, {2, 1}}, {{2, 0}});

    EXPECT_FALSE(decide_among({propose({2})}, outlook, 0));
}

// The time of a change is expensive to predict.
TEST(Planner, PredictsNoChangeToALayoutThatCannotBeTheBest) {
    TableOutlook outlook({{1, 10}, {2, 5}, {3, 6}, {4, 7}}, {{2, 0}, {3, 0}, {4, 0}});

    ASSERT_TRUE(decide_among({propose({4, 3, 2})}, outlook, 10));

    EXPECT_EQ(outlook.predicted_changes, 1);
}

}  // namespace
}  // namespace trireme::policy
