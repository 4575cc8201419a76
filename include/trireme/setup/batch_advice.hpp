// The default batch size, and warnings about schedules that leave ranks idle.
#pragma once

#include <string>

#include "trireme/config/config.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::setup {

// Sets an unset --batch to its default, or to one sample per micro-batch if a step of `ranks` ranks has more
// micro-batches than the default has samples.
void fit_default_batch(config::RunConfig& config, int ranks);

// Returns a warning if the schedule leaves ranks idle for more than 30 % of the time. It names the
// --microbatches that reduce this below 10 %, if any. Also warns about `interleaved` with one stage per rank.
// Empty if there is nothing to warn about.
std::string idle_warning(const config::RunConfig& config, const plan::Plan& plan, int ranks);

}  // namespace trireme::setup
