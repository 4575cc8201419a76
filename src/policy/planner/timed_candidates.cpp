#include "policy/planner/timed_candidates.hpp"

#include <algorithm>
#include <utility>

namespace trireme::policy {
namespace {

constexpr std::size_t max_candidates = 32;  // including the current plan

TimedCandidate predict_times(Candidate candidate, Outlook& outlook, std::span<const plan::StepAhead> steps) {
    TimedCandidate timed{.candidate = std::move(candidate), .seconds = {}};
    for (const std::optional<StepOutlook>& prediction : outlook.predict_steps(timed.candidate, steps))
        timed.seconds.push_back(prediction ? std::optional(prediction->seconds) : std::nullopt);
    return timed;
}

bool has_plan(const std::vector<TimedCandidate>& candidates, const Candidate& plan) {
    return std::ranges::any_of(
        candidates, [&](const TimedCandidate& other) { return are_equal_plans(other.candidate, plan); });
}

void add_variations(const plan::Observation& observed, const Proposer& propose, Outlook& outlook,
                    std::span<const plan::StepAhead> steps, std::vector<TimedCandidate>& candidates) {
    for (std::size_t i = 0, count = candidates.size(); i < count; ++i) {
        for (Candidate& variation : propose(observed, candidates[i].candidate)) {
            if (!has_plan(candidates, variation))
                candidates.push_back(predict_times(std::move(variation), outlook, steps));
        }
    }
}

// Returns the indices of the candidates that can execute a step ahead, without the current plan. The fastest
// one is first.
std::vector<std::size_t> sort_by_time(const std::vector<TimedCandidate>& candidates, std::size_t step) {
    std::vector<std::size_t> order;
    for (std::size_t i = 1; i < candidates.size(); ++i)
        if (candidates[i].seconds[step]) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *candidates[i].seconds[step]; });
    return order;
}

// Returns the current plan, then in each round one candidate per step: in the first round the fastest ones, in
// the second round the second fastest ones, and so on. Candidates that cannot execute any step are dropped.
std::vector<TimedCandidate> select_fastest(std::vector<TimedCandidate> candidates, std::size_t steps) {
    std::vector<std::vector<std::size_t>> orders;
    for (std::size_t step = 0; step < steps; ++step) orders.push_back(sort_by_time(candidates, step));
    std::vector<bool> is_kept(candidates.size());
    std::vector<TimedCandidate> kept{std::move(candidates.front())};
    for (std::size_t round = 0; round < candidates.size(); ++round) {
        for (const std::vector<std::size_t>& order : orders) {
            if (kept.size() == max_candidates) return kept;
            if (round >= order.size() || is_kept[order[round]]) continue;
            is_kept[order[round]] = true;
            kept.push_back(std::move(candidates[order[round]]));
        }
    }
    return kept;
}

}  // namespace

std::vector<TimedCandidate> list_candidates(const plan::Observation& observed, const Candidate& current,
                                            std::span<const Proposer> proposers, Outlook& outlook,
                                            std::span<const plan::StepAhead> steps) {
    std::vector<TimedCandidate> candidates{predict_times(current, outlook, steps)};
    for (const Proposer& propose : proposers) {
        add_variations(observed, propose, outlook, steps, candidates);
        candidates = select_fastest(std::move(candidates), steps.size());
    }
    return candidates;
}

}  // namespace trireme::policy
