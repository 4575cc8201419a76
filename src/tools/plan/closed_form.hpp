// Computes bubbles by formulas of the literature, for comparison with the predicted bubbles.
#pragma once

#include <optional>
#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::tools {

// Returns the bubble of a plan by the formula of the plan's schedule. The bubble is the fraction of a step in
// which a rank idles. `costs` has one entry per stage. Returns an empty value if there is no formula: for a
// schedule from a file, for `auto`, or for the sizes of this pipeline. Also returns an empty value if the plan
// does not meet all assumptions of the formulas:
// - The layout is a grid or V-shaped, and no rank is idle.
// - All pipeline replicas execute the same number of micro-batches.
// - All stages have equal costs above 0. Messages, reductions and updates cost nothing.
// - No block is frozen.
// - If updates are speculative and the first and the last stage share a tied token table, one team holds both
//   stages.
std::optional<double> compute_closed_form_bubble(const plan::Plan& plan,
                                                 const std::vector<schedule::StageCost>& costs);

}  // namespace trireme::tools
