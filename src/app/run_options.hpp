// The options of the section [run].
#pragma once

#include "app/option.hpp"
#include "trireme/train/config.hpp"

namespace trireme::app {

OptionGroup run_options(RunConfig& config);

}  // namespace trireme::app
