// Warns of schedules that leave ranks idle or do not interleave.
#pragma once

#include <string>

#include "trireme/config/config.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme {

// The warning about a schedule that idles for more than 30 % of the ranks' time, with the --microbatches that
// bring it below 10 % if there are any, and about `interleaved` with one stage per rank. Otherwise empty.
std::string idle_warning(const RunConfig& config, const Plan& plan, int ranks);

}  // namespace trireme
