// Predicts the steps of other layouts from the observed times of ranks.
#pragma once

#include <memory>
#include <optional>

#include "trireme/policy/uneven.hpp"

namespace trireme::policy {

class PaceOutlook {
public:
    // The arguments must outlive this object. `current` is the plan of the observation.
    PaceOutlook(const UnevenRules& rules, const plan::Observation& observed, const plan::Plan& current);
    ~PaceOutlook();

    // Returns the seconds of a step with `layout`; empty if the schedule does not support the layout. The step
    // is executed by the programs that the current plan's schedule generates, or by 1F1B if the current
    // programs were searched and each team has one stage. The current layout has the effect of its offloaded
    // work. Messages and updates are assumed to take no time, so the result only serves to compare layouts.
    std::optional<double> predict_step_seconds(const layout::Layout& layout) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::policy
