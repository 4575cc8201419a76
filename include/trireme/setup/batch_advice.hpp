// The batch of a run that does not set --batch, and warnings about schedules that leave ranks idle.
#pragma once

#include <string>

#include "trireme/config/config.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::setup {

// Raises a --batch that is not set where a step of `ranks` ranks has more micro-batches than the default has
// samples: to one sample per micro-batch. Either way the batch is set afterwards.
void fit_default_batch(config::RunConfig& config, int ranks);

// The warning about a schedule that idles for more than 30 % of the ranks' time, with the --microbatches that
// bring it below 10 % if there are any, and about `interleaved` with one stage per rank. Otherwise empty.
std::string idle_warning(const config::RunConfig& config, const plan::Plan& plan, int ranks);

}  // namespace trireme::setup
