// Predicts the time of a step for a given layout and given team speeds.
#pragma once

#include "policy/spread.hpp"

namespace trireme::policy {

// Simulates the programs of the current plan's schedule. Messages and updates take no time, so the result only
// serves for comparisons. Returns `impossible` if the schedule does not support the layout.
double step_seconds(const layout::Layout& layout, const StagePaces& paces, const RunWork& work,
                    const plan::Plan& current);

}  // namespace trireme::policy
