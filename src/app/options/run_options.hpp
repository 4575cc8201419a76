// The options of the section [run].
#pragma once

#include "app/options/option.hpp"
#include "trireme/config/config.hpp"

namespace trireme::app {

OptionGroup run_options(RunConfig& config);

}  // namespace trireme::app
