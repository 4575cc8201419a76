// Warns of schedules that leave ranks idle.
#pragma once

#include <string>

#include "trireme/plan/plan.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

// The warning about a schedule that idles for more than 30 % of the ranks' time, with the --microbatches that
// bring it below 10 % if there are any. It is empty for other schedules.
std::string idle_warning(const RunConfig& config, const Plan& plan, int ranks);

}  // namespace trireme
