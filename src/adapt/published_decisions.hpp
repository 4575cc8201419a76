// Decisions about the layout by FlexPipe's published rule, with --elastic-rule published.
#pragma once

#include <optional>

#include "adapt/candidate_outlook.hpp"
#include "trireme/policy/published.hpp"
#include "trireme/setup/step_bytes.hpp"

namespace trireme::adapt {

class PublishedDecisions {
public:
    // `job`, `current` and `outlook` must outlive the object.
    PublishedDecisions(const setup::Job& job, const setup::PlanState& current, policy::LengthRules rules,
                       CandidateOutlook& outlook);

    // Decides about the plan of the first step ahead. `current` is the plan of the run. All predicted times are
    // multiplied by `scale`.
    policy::PublishedVerdict decide(const plan::Observation& observed, const policy::Candidate& current,
                                    double scale);

private:
    double predict_peak_bytes(const plan::StepAhead& step);
    std::size_t count_max_blocks(const plan::StepAhead& step);

    const setup::Job& job_;
    const setup::PlanState& current_;
    CandidateOutlook& outlook_;
    policy::PublishedRules rules_ = {};
    layout::Layout bytes_layout_ = {};            // of the plan for which bytes_ was made
    std::optional<setup::StepBytes> bytes_ = {};  // of the current plan
};

}  // namespace trireme::adapt
