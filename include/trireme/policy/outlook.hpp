// Predictions by which the planner compares candidates. "Impossible" is a value, never an exception.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "trireme/policy/candidate.hpp"

namespace trireme::policy {

struct StepOutlook {
    double seconds = 0;
    std::size_t peak_bytes = 0;  // on the rank that needs the most memory; 0 if unknown
};

class Outlook {
public:
    virtual ~Outlook() = default;
    // Returns the prediction for a coming step with the plan of the candidate. Returns nothing if the plan is
    // impossible, or if the step does not fit into the memory of a rank.
    virtual std::optional<StepOutlook> predict_step(const Candidate& candidate,
                                                    const plan::StepAhead& step) = 0;
    // Returns the predictions for several steps.
    virtual std::vector<std::optional<StepOutlook>> predict_steps(const Candidate& candidate,
                                                                  std::span<const plan::StepAhead> steps) {
        std::vector<std::optional<StepOutlook>> outlooks;
        for (const plan::StepAhead& step : steps) outlooks.push_back(predict_step(candidate, step));
        return outlooks;
    }
    // Returns an estimate of the seconds of a change of plan, which is infinite for a change that is known to
    // be impossible. It is quick, because decide() asks for each pair of candidates.
    virtual double estimate_change_seconds(const Candidate& from, const Candidate& to) = 0;
    // Returns the estimates for the changes from each candidate (by row) to each other one; 0 if both are the
    // same.
    virtual std::vector<std::vector<double>> estimate_changes(std::span<const Candidate* const> candidates) {
        std::vector<std::vector<double>> seconds;
        for (const Candidate* const from : candidates) {
            std::vector<double>& row = seconds.emplace_back();
            for (const Candidate* const to : candidates)
                row.push_back(from == to ? 0 : estimate_change_seconds(*from, *to));
        }
        return seconds;
    }
    // Returns the seconds of a change from the current plan, after all checks of the change. Returns nothing if
    // the change is impossible. decide() asks only for few candidates, and once for each.
    virtual std::optional<double> predict_change_seconds(const Candidate& to) = 0;
};

}  // namespace trireme::policy
