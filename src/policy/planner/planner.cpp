#include "trireme/policy/planner.hpp"

#include <algorithm>
#include <vector>

#include "policy/planner/path_search.hpp"
#include "policy/planner/timed_candidates.hpp"

namespace trireme::policy {
namespace {

// Returns a verdict that does not pay off. The change must be possible.
Verdict describe_move(const Candidate& candidate, std::size_t index, std::size_t min_steps,
                      PathSearch& search) {
    const PathTimes times = search.compare_times(index, min_steps);
    return {.candidate = candidate,
            .current_step_seconds = search.mean_seconds(0),
            .step_seconds = search.mean_seconds(index),
            .change_seconds = search.predict_change_seconds(index).value(),
            .current_seconds = times.current_seconds,
            .path_seconds = times.path_seconds};
}

// Returns the candidates that can execute the next step, and whose steps are shorter than `max_seconds`. The
// one with the shortest steps is first.
std::vector<std::size_t> list_faster_candidates(const std::vector<TimedCandidate>& candidates,
                                                const PathSearch& search, double max_seconds) {
    std::vector<std::size_t> faster;
    for (std::size_t i = 1; i < candidates.size(); ++i)
        if (candidates[i].seconds.front() && search.mean_seconds(i) < max_seconds) faster.push_back(i);
    std::ranges::stable_sort(faster, {}, [&](std::size_t i) { return search.mean_seconds(i); });
    return faster;
}

}  // namespace

std::optional<Verdict> decide(const plan::Observation& observed, const Candidate& current,
                              std::span<const Proposer> proposers, Outlook& outlook,
                              const Criterion& criterion) {
    const plan::StepAhead next_step{.step = observed.step};
    std::span<const plan::StepAhead> steps = observed.ahead;
    if (steps.empty()) steps = {&next_step, 1};
    steps = steps.first(std::min(steps.size(), criterion.horizon));
    if (steps.empty()) return std::nullopt;
    const std::vector<TimedCandidate> candidates =
        list_candidates(observed, current, proposers, outlook, steps);
    if (candidates.size() == 1) return std::nullopt;

    PathSearch search(candidates, outlook, criterion);
    const std::optional<std::size_t> first = search.find_first_move();
    if (!first) return std::nullopt;
    const bool must_move = !candidates.front().seconds.front();
    const double max_share = 1 - criterion.min_gain;
    if (*first > 0) {
        Verdict verdict = describe_move(candidates[*first].candidate, *first, criterion.min_steps, search);
        verdict.pays_off = must_move || verdict.path_seconds < max_share * verdict.current_seconds;
        if (verdict.pays_off) return verdict;
    }
    for (const std::size_t i : list_faster_candidates(candidates, search, max_share * search.mean_seconds(0)))
        if (search.predict_change_seconds(i))
            return describe_move(candidates[i].candidate, i, criterion.min_steps, search);
    return std::nullopt;
}

}  // namespace trireme::policy
