// Candidates with the times of the steps ahead.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "trireme/policy/candidate.hpp"
#include "trireme/policy/outlook.hpp"

namespace trireme::policy {

struct TimedCandidate {
    Candidate candidate;
    std::vector<std::optional<double>>
        seconds;  // per step ahead; empty if the candidate cannot execute the step
};

// Returns the current plan, then the candidates that the planner keeps after the last proposer: see decide().
std::vector<TimedCandidate> list_candidates(const plan::Observation& observed, const Candidate& current,
                                            std::span<const Proposer> proposers, Outlook& outlook,
                                            std::span<const plan::StepAhead> steps);

}  // namespace trireme::policy
