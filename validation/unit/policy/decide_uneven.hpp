// Decisions of --straggler uneven for tests, as if changes of the layout took no time.
#pragma once

#include "trireme/plan/decision.hpp"
#include "trireme/policy/describe_slowness.hpp"
#include "trireme/policy/pace_outlook.hpp"
#include "trireme/policy/planner.hpp"

namespace trireme::policy {

class OutlookWithFreeChanges final : public Outlook {
public:
    OutlookWithFreeChanges(const UnevenRules& rules, const plan::Observation& observed,
                           const plan::Plan& current)
        : steps_(rules, observed, current) {}

    std::optional<StepOutlook> predict_step(const Candidate& candidate, const plan::StepAhead&) override {
        const std::optional<double> seconds = steps_.predict_step_seconds(candidate.layout);
        return seconds ? std::optional(StepOutlook{.seconds = *seconds}) : std::nullopt;
    }
    double estimate_change_seconds(const Candidate&, const Candidate&) override { return 0; }
    std::optional<double> predict_change_seconds(const Candidate&) override { return 0; }

private:
    PaceOutlook steps_;
};

// `healthy_layout` is the layout for equally fast ranks.
inline std::optional<plan::Decision> decide_uneven(const UnevenRules& rules, const plan::Observation& observed,
                                                   const plan::Plan& current, double min_gain,
                                                   const layout::Layout& healthy_layout) {
    OutlookWithFreeChanges outlook(rules, observed, current);
    const Proposer proposer = [&, propose = make_uneven_proposer(rules, current)](
                                  const plan::Observation& observation, Candidate candidate) {
        candidate.layout = healthy_layout;
        return propose(observation, candidate);
    };
    const Candidate stay{
        .layout = current.layout, .microbatches = current.microbatches(), .schedule = current.schedule};
    const std::optional<Verdict> verdict =
        decide(observed, stay, {&proposer, 1}, outlook, {.min_gain = min_gain});
    if (!verdict) return std::nullopt;
    const Cause& cause = verdict->candidate.causes.front();
    return plan::Decision{
        .step = observed.step,
        .layout = verdict->candidate.layout,
        .policy = cause.proposer,
        .reason = cause.reason,
        .terms = make_gain_terms(observed, verdict->current_step_seconds - verdict->step_seconds)};
}

// The layout for equally fast ranks has the stages of the current plan, and even shares and turns.
inline std::optional<plan::Decision> decide_uneven(const UnevenRules& rules, const plan::Observation& observed,
                                                   const plan::Plan& current, double min_gain = 0.01) {
    return decide_uneven(rules, observed, current, min_gain, make_even_layout(current.layout));
}

}  // namespace trireme::policy
