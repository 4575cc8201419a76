#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "unit/policy/window_outlook.hpp"

namespace trireme::policy {
namespace {

constexpr std::size_t plans = 4;
constexpr double infinite = std::numeric_limits<double>::infinity();

struct Expected {
    std::optional<std::size_t> plan = {};
    bool pays_off = false;
    bool returns = false;        // the path returns to the current plan
    double path_seconds = 0;     // until the return
    double current_seconds = 0;  // until the return
};

// Finds the decision by enumerating all paths.
class Enumeration {
public:
    Enumeration(const WindowTables& tables, const Criterion& criterion)
        : tables_(tables),
          criterion_(criterion),
          window_(std::min(criterion.horizon, tables.steps.front().size())),
          changes_(tables.estimates) {}

    Expected decide() {
        if (std::ranges::none_of(tables_.steps, [](const auto& row) { return row[0].has_value(); })) return {};
        std::vector<bool> is_asked(plans);
        for (;;) {
            find_best_path();
            if (best_.empty()) return {};
            const std::size_t first = best_.front();
            if (first == 0) break;
            if (is_asked[first]) {
                const Expected expected = judge();
                if (expected.pays_off) return expected;
                break;
            }
            is_asked[first] = true;
            changes_[0][first] = tables_.predictions[first].value_or(infinite);
        }
        return find_fastest_plan();
    }

private:
    bool is_dead(std::size_t step) const {
        return step > 0 &&
               std::ranges::none_of(tables_.steps, [&](const auto& row) { return row[step].has_value(); });
    }

    double find_step_seconds(std::size_t plan, std::size_t step) const {
        return is_dead(step) ? 0 : tables_.steps[plan][step].value_or(infinite);
    }

    // Returns the seconds of a step for which the plan may be left and taken again.
    double find_detour_seconds(std::size_t plan, std::size_t step) const {
        if (find_step_seconds(plan, step) < infinite) return find_step_seconds(plan, step);
        std::size_t fastest = 0;
        for (std::size_t other = 1; other < plans; ++other)
            if (find_step_seconds(other, step) < find_step_seconds(fastest, step)) fastest = other;
        return tables_.estimates[plan][fastest] + find_step_seconds(fastest, step) +
               tables_.estimates[fastest][plan];
    }

    double find_mean_seconds(std::size_t plan) const {
        double sum = 0;
        for (std::size_t step = 0; step < window_; ++step) sum += find_detour_seconds(plan, step);
        return sum / static_cast<double>(window_);
    }

    double find_tail_seconds(std::size_t plan) const {
        return static_cast<double>(criterion_.horizon - window_) * find_mean_seconds(plan);
    }

    bool is_candidate(std::size_t plan) const {
        const auto& row = tables_.steps[plan];
        return plan == 0 || std::any_of(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(window_),
                                        [](const auto& seconds) { return seconds.has_value(); });
    }

    void find_best_path() {
        best_.clear();
        best_seconds_ = infinite;
        tails_.clear();
        for (std::size_t plan = 0; plan < plans; ++plan) tails_.push_back(find_tail_seconds(plan));
        std::vector<std::size_t> path;
        extend(path, 0);
    }

    // Visits all paths that begin with `path`, which takes `seconds`.
    void extend(std::vector<std::size_t>& path, double seconds) {
        if (path.size() == window_) {
            seconds += tails_[path.back()];
            if (seconds >= best_seconds_) return;
            best_seconds_ = seconds;
            best_ = path;
            return;
        }
        for (std::size_t plan = 0; plan < plans; ++plan) {
            if (!is_candidate(plan)) continue;
            const std::size_t from = path.empty() ? 0 : path.back();
            const double change = from == plan ? 0 : changes_[from][plan];
            const double longer = seconds + change + find_step_seconds(plan, path.size());
            path.push_back(plan);
            extend(path, longer);
            path.pop_back();
        }
    }

    Expected judge() const {
        const auto back = std::ranges::find(best_, 0U);
        Expected expected{.plan = best_.front(), .returns = back != best_.end()};
        std::size_t before = 0;
        for (auto plan = best_.begin(); plan != back; before = *plan++) {
            const auto step = static_cast<std::size_t>(plan - best_.begin());
            expected.path_seconds += find_step_seconds(*plan, step);
            if (before != *plan) expected.path_seconds += changes_[before][*plan];
            expected.current_seconds += find_detour_seconds(0, step);
        }
        expected.path_seconds += expected.returns ? changes_[before][0] : find_tail_seconds(before);
        if (!expected.returns) expected.current_seconds += find_tail_seconds(0);
        const double gain = expected.current_seconds - expected.path_seconds;
        expected.pays_off = !tables_.steps[0][0] || gain > criterion_.min_gain * expected.current_seconds;
        return expected;
    }

    Expected find_fastest_plan() const {
        Expected expected;
        double shortest = (1 - criterion_.min_gain) * find_mean_seconds(0);
        for (std::size_t plan = 1; plan < plans; ++plan) {
            if (!tables_.steps[plan][0] || !tables_.predictions[plan]) continue;
            if (find_mean_seconds(plan) >= shortest) continue;
            shortest = find_mean_seconds(plan);
            expected.plan = plan;
        }
        return expected;
    }

    const WindowTables& tables_;
    Criterion criterion_;
    std::size_t window_;
    std::vector<std::vector<double>> changes_;  // predictions replace estimates
    std::vector<double> tails_;
    std::vector<std::size_t> best_;
    double best_seconds_ = infinite;
};

WindowTables make_random_tables(std::mt19937_64& random) {
    constexpr std::size_t steps = 8;
    std::uniform_real_distribution<double> zero_to_one(0, 1);
    const double impossible_fraction = 0.6 * zero_to_one(random);
    const double max_change = 2 * zero_to_one(random);
    WindowTables tables;
    for (std::size_t plan = 0; plan < plans; ++plan) {
        auto& row = tables.steps.emplace_back();
        for (std::size_t step = 0; step < steps; ++step) {
            const double seconds = 1 + zero_to_one(random);
            row.push_back(zero_to_one(random) < impossible_fraction ? std::nullopt : std::optional(seconds));
        }
        auto& changes = tables.estimates.emplace_back();
        for (std::size_t to = 0; to < plans; ++to) changes.push_back(max_change * zero_to_one(random));
    }
    for (const double estimate : tables.estimates[0]) {
        const double seconds = estimate * (0.5 + zero_to_one(random));
        tables.predictions.push_back(zero_to_one(random) < 0.1 ? std::nullopt : std::optional(seconds));
    }
    return tables;
}

TEST(ExhaustivePaths, EqualTheDecisionsOfThePlanner) {
    std::mt19937_64 random(12);
    std::map<std::string, int> cases;
    for (int i = 0; i < 600; ++i) {
        const WindowTables tables = make_random_tables(random);
        const Criterion criterion{.horizon = 1 + random() % 16,
                                  .min_gain = 0.1 * static_cast<double>(random() % 3)};
        const Expected expected = Enumeration(tables, criterion).decide();

        const std::optional<Verdict> verdict = decide_ahead(tables, criterion);

        ASSERT_EQ(verdict.has_value(), expected.plan.has_value()) << i;
        ++cases[!verdict             ? "nothing"
                : !expected.pays_off ? "refusal"
                : expected.returns   ? "excursion"
                                     : "change"];
        if (!verdict) continue;
        EXPECT_EQ(verdict->candidate.layout->layers, *expected.plan) << i;
        EXPECT_EQ(verdict->pays_off, expected.pays_off) << i;
        EXPECT_EQ(verdict->change_seconds, tables.predictions[*expected.plan]) << i;
        if (!expected.pays_off) continue;
        EXPECT_NEAR(verdict->path_seconds, expected.path_seconds, 1e-9) << i;
        EXPECT_NEAR(verdict->current_seconds, expected.current_seconds, 1e-9) << i;
    }
    for (const auto& [name, count] : cases) EXPECT_GT(count, 30) << name;
    EXPECT_EQ(cases.size(), 4U);
}

}  // namespace
}  // namespace trireme::policy
