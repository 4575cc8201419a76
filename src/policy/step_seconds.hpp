// What a step takes whose layout, and the speed of whose teams, are given.
#pragma once

#include "policy/spread.hpp"

namespace trireme::policy {

// By the current plan's schedule, its programs executed with a clock. Messages and updates take no time: it is
// for comparing. Impossible where the schedule cannot be made for the layout.
double step_seconds(const layout::Layout& layout, const StagePaces& paces, const RunWork& work,
                    const plan::Plan& current);

}  // namespace trireme::policy
