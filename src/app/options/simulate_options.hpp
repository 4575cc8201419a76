// The options of `trireme simulate`: those of `train`, and what stands around them.
#pragma once

#include <vector>

#include "app/options/option.hpp"
#include "trireme/config/config.hpp"
#include "trireme/tools/simulate.hpp"

namespace trireme::app {

// Of `train`: what kernels take in a simulation. The options refer to `costs`, which must outlive them.
std::vector<Option> device_cost_options(RunConfig& config);

// The options refer to `config`, which must outlive them.
OptionGroup simulate_options(SimulateConfig& config);

// Throws ConfigError where options of `simulate` are missing, or ask for what there is not.
void check_simulate_options(const SimulateConfig& config);

}  // namespace trireme::app
