// Forecasts the decisions of --freeze without executing steps.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// Returns the number of frozen blocks after 0, 1, 2, ... periods, up to the period after which no more blocks
// freeze, or up to the end of the run if the number of its periods is known, but not beyond 1,000 periods. With
// --freeze gradient, these are upper bounds. `blocks` is the number of blocks of the model. Empty without
// --freeze.
std::vector<int> list_scheduled_depths(const config::RunConfig& config, int blocks);

// Returns the number of steps before blocks may freeze for the first time; all steps without --freeze.
std::size_t count_first_steps(const setup::Job& job, const setup::PlanState& current);

}  // namespace trireme::adapt
