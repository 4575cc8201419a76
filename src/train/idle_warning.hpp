// Warns of schedules that leave ranks idle.
#pragma once

#include <string>

#include "trireme/plan/plan.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

// What to say of a plan whose schedule idles for more than 30 % of the ranks' time, with the --microbatches
// that bring it below 10 % where there are some. Empty: nothing.
std::string idle_warning(const RunConfig& config, const Plan& plan, int ranks);

}  // namespace trireme
