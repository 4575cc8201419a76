// The best paths through the steps ahead, by dynamic programming.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "policy/planner/timed_candidates.hpp"
#include "trireme/policy/planner.hpp"

namespace trireme::policy {

// The times of a path and of the current plan: see Verdict.
struct PathTimes {
    double current_seconds = 0;
    double path_seconds = 0;
};

// Candidates are named by their indices. Candidate 0 is the current plan.
class PathSearch {
public:
    // The candidates and the outlook must outlive this object. Each candidate has the times of all steps ahead.
    PathSearch(std::span<const TimedCandidate> candidates, Outlook& outlook, const Criterion& criterion);

    // Returns the candidate with which the best path begins. Predicts the changes from the current plan to this
    // candidate, and to all candidates that were better by their estimates. Returns nothing if no candidate can
    // execute the next step.
    std::optional<std::size_t> find_first_move();
    // Returns the seconds of a change from the current plan. Returns nothing if the change is impossible.
    std::optional<double> predict_change_seconds(std::size_t to);
    // Returns the mean over the steps ahead, in which a step that the candidate cannot execute takes the time
    // of other candidates and changes: see decide().
    double mean_seconds(std::size_t candidate) const { return mean_seconds_[candidate]; }
    // Compares the best path that begins with a candidate, which can execute the next step, and the current
    // plan.
    PathTimes compare_times(std::size_t first, std::size_t min_steps) const;

private:
    // The best path from a step on.
    struct Continuation {
        std::size_t next = 0;     // the candidate of this step
        double seconds = 0;       // until the horizon, with the change to `next`
        double last_seconds = 0;  // mean step of the last candidate
    };

    std::size_t count_steps() const { return step_seconds_.front().size(); }
    void fill_step_seconds();
    void estimate_changes();
    double compute_detour_seconds(std::size_t candidate, std::size_t step) const;
    void fill_mean_seconds();
    void find_continuations();
    Continuation find_continuation(std::size_t from, std::size_t step) const;
    double compute_tail_seconds(std::size_t last) const;

    std::span<const TimedCandidate> candidates_;
    Outlook& outlook_;
    bool may_change_later_;        // see Criterion
    std::size_t steps_after_ = 0;  // number of steps after the steps ahead until the horizon
    // [candidate][step ahead]. An impossible step takes infinite time, or none if no candidate can execute it.
    std::vector<std::vector<double>> step_seconds_;
    std::vector<std::vector<double>> change_seconds_;  // [from][to]; infinite if impossible
    std::vector<bool> is_predicted_;                   // per candidate: the change from the current plan
    std::vector<double> current_seconds_;              // per step ahead; with detours for impossible steps
    std::vector<double> mean_seconds_;                 // per candidate
    std::vector<std::vector<Continuation>> best_;      // [step ahead][candidate of the step before]
};

}  // namespace trireme::policy
