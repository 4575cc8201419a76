// Formulas for bubbles from the literature, for comparison with the prediction.
#pragma once

#include <optional>
#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::tools {

// Returns the bubble, the fraction of a step in which a rank waits, by the formula of the schedule. Returns an
// empty value if the schedule has no formula, such as a schedule from a file, or if the formula does not hold.
// It holds if the layout is a grid or V-shaped and uses all ranks, if all pipelines execute the same number of
// micro-batches, if stages have equal costs, and if messages, reductions and updates cost nothing. If updates
// are speculative, also the first and the last team must not share a tied table.
std::optional<double> compute_closed_form_bubble(const plan::Plan& plan,
                                                 const std::vector<schedule::StageCost>& costs);

}  // namespace trireme::tools
