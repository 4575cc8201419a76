#include "trireme/policy/published.hpp"

#include <algorithm>
#include <utility>

#include "policy/planner/published_search.hpp"
#include "policy/proposers/cut_layout.hpp"
#include "policy/proposers/cut_stages.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::policy {
namespace {

struct NewPlan {
    Candidate candidate;
    double step_seconds = 0;
    double change_seconds = 0;
};

// Searches for the new plan of one decision.
class NewPlanSearch {
public:
    // The arguments must outlive this object.
    NewPlanSearch(const plan::Observation& observed, const Candidate& current, const PublishedRules& rules,
                  Outlook& outlook)
        : observed_(observed), current_(current), rules_(rules), outlook_(outlook) {
        LengthCosts costs = rules.lengths.costs(observed.ahead.front(), current.microbatches);
        problem_ = {.layer_seconds = std::move(costs.layer_seconds),
                    .reduce_seconds = rules.lengths.reduce_seconds,
                    .slowness = list_team_slowness(rules.lengths, observed),
                    .microbatches = current.microbatches,
                    .send_seconds = costs.send_seconds,
                    .cuts = rules.lengths.cuts,
                    .replica_work = ReplicaWork::divided};
        sizes_ = {.blocks = problem_.cuts.size(),
                  .teams = problem_.slowness.size(),
                  .max_blocks = rules.max_blocks(observed.ahead.front())};
    }

    double compute_step_seconds(const layout::Layout& layout) const {
        return compute_published_seconds(layout, problem_, observed_.slowness);
    }

    // Returns the new plan with the fewest stages, but at least `min_stages`. If the current plan is possible,
    // the search ends at its number of stages. Otherwise, smaller numbers are tried last. Returns nothing if no
    // plan is found.
    std::optional<NewPlan> find(std::size_t min_stages, bool is_current_possible) {
        const std::size_t current_stages = current_.layout->stages.size();
        std::vector<std::size_t> counts;
        for (std::size_t stages = min_stages; stages <= sizes_.teams; ++stages) counts.push_back(stages);
        if (is_current_possible)
            counts.erase(std::ranges::find(counts, current_stages), counts.end());
        else
            for (std::size_t stages = min_stages; --stages > 0;) counts.push_back(stages);
        for (const std::size_t stages : counts) {
            if (stages == current_stages) continue;
            if (std::optional<NewPlan> plan = find_with_stages(stages)) return plan;
            ++refused_;
        }
        return std::nullopt;
    }

    std::size_t count_refused() const { return refused_; }

private:
    std::optional<NewPlan> find_with_stages(std::size_t stages) {
        problem_.bounds = make_published_bounds(sizes_, stages);
        const std::optional<StageCut> cut = find_best_cut(problem_, stages);
        if (!cut) return std::nullopt;
        Candidate candidate = current_;
        candidate.layout = make_cut_layout(rules_.lengths, *cut, order_by_stage(*cut));
        candidate.causes = {make_cause(stages)};
        if (!outlook_.predict_step(candidate, observed_.ahead.front())) return std::nullopt;
        const std::optional<double> change_seconds = outlook_.predict_change_seconds(candidate);
        if (!change_seconds) return std::nullopt;
        const double step_seconds = compute_step_seconds(candidate.layout);
        return NewPlan{std::move(candidate), step_seconds, *change_seconds};
    }

    Cause make_cause(std::size_t stages) const {
        std::uint32_t longest = 0;
        for (const std::uint32_t length : observed_.ahead.front().lengths) longest = std::max(longest, length);
        return {.proposer = "length",
                .reason = "samples of up to " + format_count(longest, "token") + " fit into " +
                          format_count(stages, "stage"),
                .terms = {{"longest", longest}, {"stages", static_cast<double>(stages)}}};
    }

    const plan::Observation& observed_;
    const Candidate& current_;
    const PublishedRules& rules_;
    Outlook& outlook_;
    CutProblem problem_ = {};
    PublishedSizes sizes_ = {};
    std::size_t refused_ = 0;
};

// Returns the conditions of a verdict that has all its numbers.
PublishedConditions find_conditions(const PublishedVerdict& verdict, bool is_current_possible) {
    const double change_and_step_seconds = verdict.new_seconds + verdict.change_seconds;
    const std::optional<double>& memory_plan_seconds = verdict.memory_plan_seconds;
    return {.fits = is_current_possible && verdict.peak_bytes <= verdict.pooled_bytes,
            .change_takes_longer = change_and_step_seconds >= verdict.current_seconds,
            .memory_plan_fits = memory_plan_seconds.has_value(),
            .memory_plan_is_faster = memory_plan_seconds &&
                                     change_and_step_seconds >= verdict.current_seconds + *memory_plan_seconds};
}

}  // namespace

Outcome choose_outcome(const PublishedConditions& conditions) {
    if (conditions.fits) return conditions.change_takes_longer ? Outcome::keep : Outcome::shrink;
    const bool uses_memory_plan = conditions.memory_plan_fits && conditions.memory_plan_is_faster;
    return uses_memory_plan ? Outcome::memory : Outcome::grow;
}

PublishedVerdict decide_published(const plan::Observation& observed, const Candidate& current,
                                  const PublishedRules& rules, Outlook& outlook) {
    if (observed.ahead.empty()) return {};
    const plan::StepAhead& next = observed.ahead.front();
    const auto current_stages = static_cast<double>(current.layout->stages.size());
    PublishedVerdict verdict{.peak_bytes = rules.peak_bytes(next),
                             .pooled_bytes = current_stages * rules.team_bytes};
    const bool is_current_possible = outlook.predict_step(current, next).has_value();
    const std::size_t min_stages =
        find_fewest_stages(verdict.peak_bytes, rules.team_bytes, rules.lengths.teams.size());
    NewPlanSearch search(observed, current, rules, outlook);
    verdict.current_seconds = search.compute_step_seconds(current.layout);
    std::optional<NewPlan> plan = search.find(min_stages, is_current_possible);
    verdict.refused_candidates = search.count_refused();
    verdict.new_seconds = plan ? plan->step_seconds : verdict.current_seconds;
    verdict.change_seconds = plan ? plan->change_seconds : 0;
    if (is_current_possible && verdict.peak_bytes > verdict.pooled_bytes)
        verdict.memory_plan_seconds = rules.memory_plan_seconds(next);
    verdict.conditions = find_conditions(verdict, is_current_possible);
    verdict.outcome = choose_outcome(verdict.conditions);
    const bool changes = verdict.outcome == Outcome::grow || verdict.outcome == Outcome::shrink;
    if (changes && plan) verdict.candidate = std::move(plan->candidate);
    return verdict;
}

}  // namespace trireme::policy
