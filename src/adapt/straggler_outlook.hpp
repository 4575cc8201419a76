// Predicts the steps and changes of candidates for slow ranks.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "trireme/policy/outlook.hpp"
#include "trireme/policy/pace_outlook.hpp"

namespace trireme::adapt {

// Predicts steps from the observed times of ranks, and changes of plan by a function, which returns nothing for
// an impossible change. All coming steps are assumed to take equal times.
class StragglerOutlook final : public policy::Outlook {
public:
    using PredictChange = std::function<std::optional<double>(const policy::Candidate&)>;

    StragglerOutlook(const policy::UnevenRules& rules, const plan::Observation& observed,
                     const plan::Plan& current, PredictChange predict_change)
        : steps_(rules, observed, current), predict_change_(std::move(predict_change)) {}

    std::optional<policy::StepOutlook> predict_step(const policy::Candidate& candidate,
                                                    const plan::StepAhead&) override {
        const std::optional<double> seconds = steps_.predict_step_seconds(candidate.layout);
        return seconds ? std::optional(policy::StepOutlook{.seconds = *seconds}) : std::nullopt;
    }
    // Returns a lower bound, so that decide() finds the best change if one step is ahead.
    double estimate_change_seconds(const policy::Candidate&, const policy::Candidate&) override { return 0; }
    std::optional<double> predict_change_seconds(const policy::Candidate& to) override {
        return predict_change_(to);
    }

private:
    policy::PaceOutlook steps_;
    PredictChange predict_change_;
};

}  // namespace trireme::adapt
