// Predictions by which the planner compares candidates.
#pragma once

#include <optional>

#include "trireme/policy/candidate.hpp"

namespace trireme::policy {

class Outlook {
public:
    virtual ~Outlook() = default;
    // Returns the seconds of a step with the candidate's layout; empty if the layout is impossible.
    virtual std::optional<double> predict_step_seconds(const Candidate& candidate) = 0;
    // Returns the seconds of a change from the current plan; empty if the change is impossible.
    virtual std::optional<double> predict_change_seconds(const Candidate& candidate) = 0;
};

}  // namespace trireme::policy
