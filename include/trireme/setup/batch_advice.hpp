// The default batch size, and warnings about schedules that leave ranks idle.
#pragma once

#include <string>

#include "trireme/config/config.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::setup {

// If --batch is unset, raises the default batch size in `config` to the number of micro-batches of a step on
// `ranks` ranks, so that every micro-batch has at least one sample. Never lowers the default. Sets is_batch_set
// and is_batch_raised of RunOptions.
void fit_default_batch(config::RunConfig& config, int ranks);

// Returns a warning if the schedule leaves the `ranks` ranks of the job idle for more than 30 % of a step: see
// predict_schedule_bubble(). On a grid, the warning names a value of --microbatches with which the idle time
// falls below 10 %. Also warns about `interleaved` with one stage per rank. Returns an empty string if there is
// nothing to warn about.
std::string make_idle_warning(const config::RunConfig& config, const plan::Plan& plan, int ranks);

}  // namespace trireme::setup
