// What the literature says of a schedule, to stand beside what was predicted.
#pragma once

#include <optional>
#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::tools {

// The share of a step in which a rank waits, where there is a formula for it: one of our schedules on a grid
// or a V of all ranks whose stages cost the same and whose messages take no time. With zero-bubble schedules no
// table may be shared by the first team and the last.
std::optional<double> closed_form_bubble(const plan::Plan& plan, const std::vector<schedule::StageCost>& costs);

}  // namespace trireme::tools
