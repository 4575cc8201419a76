// Bubble fractions from the literature, for comparison with the prediction.
#pragma once

#include <optional>
#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::tools {

// Returns the fraction of a step in which a rank waits, if a formula is known for it. The schedule must be one
// of ours on a grid or a V that uses all ranks. Stages must cost the same, and messages nothing. With
// zero-bubble schedules, the first and the last team must not share a table.
std::optional<double> closed_form_bubble(const plan::Plan& plan, const std::vector<schedule::StageCost>& costs);

}  // namespace trireme::tools
