// The options of the optimizer and its learning rate.
#pragma once

#include "app/options/option.hpp"
#include "trireme/config/config.hpp"

namespace trireme::app {

OptionGroup optimizer_options(OptimizerConfig& optimizer);

}  // namespace trireme::app
