// Predicts the time of a step from a layout and the paces of its teams.
#pragma once

#include "policy/distribute_layers.hpp"

namespace trireme::policy {

// Simulates the programs that the current plan's schedule generates for `layout`, and returns the seconds of a
// step. 1F1B replaces a searched schedule if each team has one stage. Messages and updates are assumed to take
// no time, so the result only serves to compare layouts. Returns layout::infinite_cost if the schedule does not
// support the layout.
double predict_step_seconds(const layout::Layout& layout, const StagePaces& paces, const LayerRunWork& work,
                            const plan::Plan& current);

}  // namespace trireme::policy
