#include "policy/planner/path_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace trireme::policy {
namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

}  // namespace

PathSearch::PathSearch(std::span<const TimedCandidate> candidates, Outlook& outlook, const Criterion& criterion)
    : candidates_(candidates),
      outlook_(outlook),
      may_change_later_(criterion.may_change_later),
      is_predicted_(candidates.size()) {
    fill_step_seconds();
    steps_after_ = criterion.horizon - count_steps();
    estimate_changes();
    fill_mean_seconds();
    find_continuations();
}

void PathSearch::fill_step_seconds() {
    for (const TimedCandidate& candidate : candidates_) {
        std::vector<double>& row = step_seconds_.emplace_back();
        for (const std::optional<double>& seconds : candidate.seconds)
            row.push_back(seconds.value_or(impossible));
    }
    // The next step must be executed, so it stays impossible.
    for (std::size_t step = 1; step < count_steps(); ++step) {
        const auto is_impossible = [&](const std::vector<double>& row) { return row[step] == impossible; };
        if (std::ranges::all_of(step_seconds_, is_impossible))
            for (std::vector<double>& row : step_seconds_) row[step] = 0;
    }
}

void PathSearch::estimate_changes() {
    std::vector<const Candidate*> candidates;
    for (const TimedCandidate& each : candidates_) candidates.push_back(&each.candidate);
    change_seconds_ = outlook_.estimate_changes(candidates);
}

// Returns the seconds of a step. If the candidate cannot execute it, the run leaves the candidate and returns.
double PathSearch::compute_detour_seconds(std::size_t candidate, std::size_t step) const {
    const double seconds = step_seconds_[candidate][step];
    if (seconds < impossible) return seconds;
    const auto fastest =
        std::ranges::min_element(step_seconds_, {}, [&](const std::vector<double>& row) { return row[step]; });
    const auto other = static_cast<std::size_t>(fastest - step_seconds_.begin());
    return (*fastest)[step] + change_seconds_[candidate][other] + change_seconds_[other][candidate];
}

// Called before any change is predicted, so that the means depend on estimates only.
void PathSearch::fill_mean_seconds() {
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
        std::vector<double> seconds;
        for (std::size_t step = 0; step < count_steps(); ++step)
            seconds.push_back(compute_detour_seconds(c, step));
        mean_seconds_.push_back(std::accumulate(seconds.begin(), seconds.end(), 0.0) /
                                static_cast<double>(seconds.size()));
        if (c == 0) current_seconds_ = std::move(seconds);
    }
}

double PathSearch::compute_tail_seconds(std::size_t last) const {
    return steps_after_ == 0 ? 0 : static_cast<double>(steps_after_) * mean_seconds_[last];
}

void PathSearch::find_continuations() {
    best_.resize(count_steps());
    for (std::size_t step = count_steps(); step-- > 0;) {
        std::vector<Continuation> best;
        for (std::size_t from = 0; from < candidates_.size(); ++from)
            best.push_back(find_continuation(from, step));
        best_[step] = std::move(best);
    }
}

// Returns the best path for the steps from `step` on, after the candidate `from`. Of equally good paths,
// prefers one without a change.
PathSearch::Continuation PathSearch::find_continuation(std::size_t from, std::size_t step) const {
    const auto make_continuation = [&](std::size_t next) {
        const double seconds = change_seconds_[from][next] + step_seconds_[next][step];
        if (step + 1 == count_steps())
            return Continuation{next, seconds + compute_tail_seconds(next), mean_seconds_[next]};
        const Continuation& rest = best_[step + 1][next];
        return Continuation{next, seconds + rest.seconds, rest.last_seconds};
    };
    Continuation best = make_continuation(from);
    if (step > 0 && !may_change_later_) return best;
    for (std::size_t next = 0; next < candidates_.size(); ++next) {
        const Continuation other = make_continuation(next);
        if (std::pair(other.seconds, other.last_seconds) < std::pair(best.seconds, best.last_seconds))
            best = other;
    }
    return best;
}

std::optional<std::size_t> PathSearch::find_first_move() {
    for (;;) {
        const Continuation& path = best_.front().front();
        if (path.seconds == impossible) return std::nullopt;
        if (path.next == 0 || is_predicted_[path.next]) return path.next;
        predict_change_seconds(path.next);
    }
}

// The prediction also replaces the estimate for later steps. Otherwise, a change that takes longer than
// estimated would always seem better one step later.
std::optional<double> PathSearch::predict_change_seconds(std::size_t to) {
    double& seconds = change_seconds_.front()[to];
    if (!is_predicted_[to]) {
        seconds = outlook_.predict_change_seconds(candidates_[to].candidate).value_or(impossible);
        is_predicted_[to] = true;
        find_continuations();
    }
    return seconds < impossible ? std::optional(seconds) : std::nullopt;
}

// After its return, the path is assumed to keep the current plan.
PathTimes PathSearch::compare_times(std::size_t first, std::size_t min_steps) const {
    min_steps = std::min(min_steps, count_steps());
    PathTimes times{.path_seconds = change_seconds_.front()[first]};
    std::size_t candidate = first;
    for (std::size_t step = 0; step < count_steps(); ++step) {
        if (step > 0 && candidate != 0) {
            const std::size_t next = best_[step][candidate].next;
            times.path_seconds += change_seconds_[candidate][next];
            candidate = next;
        }
        if (candidate == 0 && step >= min_steps) return times;
        times.path_seconds += candidate == 0 ? current_seconds_[step] : step_seconds_[candidate][step];
        times.current_seconds += current_seconds_[step];
    }
    if (candidate == 0) return times;
    times.path_seconds += compute_tail_seconds(candidate);
    times.current_seconds += compute_tail_seconds(0);
    return times;
}

}  // namespace trireme::policy
