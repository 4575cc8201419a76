// The options of the optimizer and its learning rate.
#pragma once

#include "app/option.hpp"
#include "trireme/train/config.hpp"

namespace trireme::app {

OptionGroup optimizer_options(OptimizerConfig& optimizer);

}  // namespace trireme::app
