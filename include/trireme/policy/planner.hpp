// Decides whether a run changes its layout, and to which one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "trireme/policy/candidate.hpp"
#include "trireme/policy/outlook.hpp"

namespace trireme::policy {

struct Criterion {
    std::size_t horizon = 1;  // number of steps within which a change must save more time than it takes
    double min_gain = 0.01;   // minimum of the time saved, as a fraction of the time without the change
};

// A candidate with shorter steps than the current layout.
struct Verdict {
    Candidate candidate;
    double current_step_seconds = 0;
    double step_seconds = 0;    // with the layout of the candidate
    double change_seconds = 0;  // of the change
    bool pays_off = false;      // the change meets the criterion
};

// Calls the proposers in order, the first one with the layout `current`. Each proposer varies the candidates of
// those before it, of which the planner keeps the unchanged ones and at most the 32 with the shortest steps.
//
// Returns the candidate with the least time until the horizon, for the change and all steps. If no candidate
// meets the criterion, returns the one with the shortest steps, whose `pays_off` is false. Returns nothing if
// no possible candidate shortens the steps by the minimum gain. Of equally good candidates, the one with the
// shortest steps is chosen. The result is equal on all ranks.
std::optional<Verdict> decide(const plan::Observation& observed, const layout::Layout& current,
                              std::span<const Proposer> proposers, Outlook& outlook,
                              const Criterion& criterion);

}  // namespace trireme::policy
