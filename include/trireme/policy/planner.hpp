// Decides whether a run changes its plan, and to which one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "trireme/policy/candidate.hpp"
#include "trireme/policy/outlook.hpp"

namespace trireme::policy {

struct Criterion {
    std::size_t horizon = 1;       // number of steps within which a change must save more time than it takes
    double min_gain = 0.01;        // minimum of the time saved, as a fraction of the time without the change
    std::size_t min_steps = 1;     // minimum number of steps in this time, at most all steps ahead
    bool may_change_later = true;  // the plan may change again before each step ahead
};

// A candidate that is better than the current plan.
struct Verdict {
    Candidate candidate;
    double current_step_seconds = 0;  // mean over the steps ahead with the current plan
    double step_seconds = 0;          // mean over the steps ahead with the plan of the candidate
    double change_seconds = 0;        // of the change to the candidate
    // The times that decide() compares, until the path returns to the current plan, but for at least
    // Criterion::min_steps, or until the horizon.
    double current_seconds = 0;  // with the current plan
    double path_seconds = 0;     // with the best path that begins with the candidate, including its changes
    bool pays_off = false;       // the change meets the criterion
};

// Calls the proposers in order, the first one with the plan `current`. Each proposer varies the candidates of
// those before it, of which the planner keeps the current plan and at most 31 others: first the fastest one for
// each step ahead, then the second fastest ones, and so on. It drops candidates that cannot execute any step
// ahead.
//
// A path has one candidate per step of `observed.ahead`, which counts as one step if it is empty. Steps beyond
// the horizon do not count. The time of a path is the sum of its steps and changes; after the steps ahead, the
// mean step of the last candidate counts until the horizon. In this mean, and in the times of the current plan,
// a step that the plan cannot execute takes the time of the fastest candidate for this step, and of a change to
// this candidate and back. A step that no candidate can execute takes no time, unless it is the next step.
//
// Dynamic programming finds the path with the least time. It uses estimates of changes at first. If the best
// path begins with another candidate than the current plan, the change to this candidate is predicted, and the
// best path is searched again. Only the first move of the best path is a decision: it must save the minimum
// gain of the time that the current plan takes until the path returns to the current plan, but for at least
// `min_steps` steps, or until the horizon. If the current plan cannot execute the next step, the first move
// needs no gain.
//
// Returns the candidate of the first move. If the path begins with the current plan, or if the gain is too
// small, returns the candidate with the shortest mean step of those that can execute the next step and to which
// a change is possible, if its mean step is shorter than that of the current plan by the minimum gain. Its
// `pays_off` is false. Otherwise returns nothing, in particular if no candidate can execute the next step. Of
// equally good paths, the one that ends with the shortest steps is chosen. The result is equal on all ranks.
std::optional<Verdict> decide(const plan::Observation& observed, const Candidate& current,
                              std::span<const Proposer> proposers, Outlook& outlook,
                              const Criterion& criterion);

}  // namespace trireme::policy
