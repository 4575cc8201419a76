// Predictions from tables for tests of the planner with several steps ahead.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "trireme/policy/outlook.hpp"
#include "trireme/policy/planner.hpp"
#include "unit/policy/numbered_plans.hpp"

namespace trireme::policy {

// Plans have the numbers 0, 1, and so on. Plan 0 is the current plan.
struct WindowTables {
    std::vector<std::vector<std::optional<double>>> steps = {};  // [plan][step]
    std::vector<std::vector<double>> estimates = {};             // of changes: [from][to]
    std::vector<std::optional<double>> predictions = {};         // of changes from plan 0

    // Returns tables in which all changes take equal times.
    static WindowTables with_equal_changes(std::vector<std::vector<std::optional<double>>> steps,
                                           double change_seconds) {
        const std::size_t plans = steps.size();
        return {.steps = std::move(steps),
                .estimates = std::vector(plans, std::vector(plans, change_seconds)),
                .predictions = std::vector(plans, std::optional(change_seconds))};
    }
};

class WindowOutlook final : public Outlook {
public:
    explicit WindowOutlook(WindowTables tables) : tables_(std::move(tables)) {}

    std::optional<StepOutlook> predict_step(const Candidate& candidate, const plan::StepAhead& step) override {
        const std::optional<double> seconds = tables_.steps[candidate.layout->layers][step.step];
        return seconds ? std::optional(StepOutlook{.seconds = *seconds}) : std::nullopt;
    }
    double estimate_change_seconds(const Candidate& from, const Candidate& to) override {
        return tables_.estimates[from.layout->layers][to.layout->layers];
    }
    std::optional<double> predict_change_seconds(const Candidate& to) override {
        predicted_changes.push_back(to.layout->layers);
        return tables_.predictions[to.layout->layers];
    }

    std::vector<std::size_t> predicted_changes = {};

private:
    WindowTables tables_;
};

// Decides among all plans of the tables, with all their steps ahead.
inline std::optional<Verdict> decide_ahead(const WindowTables& tables, WindowOutlook& outlook,
                                           const Criterion& criterion) {
    plan::Observation observed;
    for (std::size_t step = 0; step < tables.steps.front().size(); ++step)
        observed.ahead.push_back({.step = step});
    std::vector<std::size_t> numbers;
    for (std::size_t plan = 1; plan < tables.steps.size(); ++plan) numbers.push_back(plan);
    const Proposer proposer = propose(numbers);
    return decide(observed, make_candidate(0), {&proposer, 1}, outlook, criterion);
}

inline std::optional<Verdict> decide_ahead(const WindowTables& tables, const Criterion& criterion) {
    WindowOutlook outlook(tables);
    return decide_ahead(tables, outlook, criterion);
}

}  // namespace trireme::policy
