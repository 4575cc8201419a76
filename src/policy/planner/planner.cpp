#include "trireme/policy/planner.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace trireme::policy {
namespace {

constexpr std::size_t max_candidates = 32;

struct TimedCandidate {
    Candidate candidate;
    double step_seconds = 0;  // not set for the current layout
};

// Adds the variations of all candidates. Then sorts the candidates by the time of their steps, except the first
// one, which is the current layout, and removes the last ones.
void add_variations(const plan::Observation& observed, const Proposer& propose, Outlook& outlook,
                    std::vector<TimedCandidate>& candidates) {
    for (std::size_t i = 0, count = candidates.size(); i < count; ++i) {
        for (Candidate& variation : propose(observed, candidates[i].candidate)) {
            const auto is_equal = [&](const TimedCandidate& other) {
                return other.candidate.layout == variation.layout;
            };
            if (std::ranges::any_of(candidates, is_equal)) continue;
            if (const std::optional<double> seconds = outlook.predict_step_seconds(variation))
                candidates.push_back({std::move(variation), *seconds});
        }
    }
    std::stable_sort(
        candidates.begin() + 1, candidates.end(),
        [](const TimedCandidate& a, const TimedCandidate& b) { return a.step_seconds < b.step_seconds; });
    if (candidates.size() > max_candidates) candidates.resize(max_candidates);
}

}  // namespace

std::optional<Verdict> decide(const plan::Observation& observed, const layout::Layout& current,
                              std::span<const Proposer> proposers, Outlook& outlook,
                              const Criterion& criterion) {
    std::vector<TimedCandidate> candidates{{.candidate = {.layout = current}}};
    for (const Proposer& propose : proposers) add_variations(observed, propose, outlook, candidates);
    if (candidates.size() == 1) return std::nullopt;
    const std::optional<double> current_seconds = outlook.predict_step_seconds({.layout = current});
    if (!current_seconds) return std::nullopt;

    const auto steps = static_cast<double>(criterion.horizon);
    const double max_share = 1 - criterion.min_gain;
    double min_seconds = max_share * *current_seconds * steps;
    std::optional<Verdict> best;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        auto& [candidate, step_seconds] = candidates[i];
        // The steps of all later candidates take at least as long.
        if (step_seconds >= max_share * *current_seconds || step_seconds * steps >= min_seconds) break;
        const std::optional<double> change_seconds = outlook.predict_change_seconds(candidate);
        if (!change_seconds) continue;
        const bool pays_off = *change_seconds + step_seconds * steps < min_seconds;
        if (best && !pays_off) continue;
        best = Verdict{.candidate = std::move(candidate),
                       .current_step_seconds = *current_seconds,
                       .step_seconds = step_seconds,
                       .change_seconds = *change_seconds,
                       .pays_off = pays_off};
        if (pays_off) min_seconds = *change_seconds + step_seconds * steps;
    }
    return best;
}

}  // namespace trireme::policy
