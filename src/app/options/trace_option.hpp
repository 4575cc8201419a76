// The steps to trace: "5" or "5:8", counted from 1, or "off".
#pragma once

#include "app/options/option.hpp"
#include "trireme/config/config.hpp"

namespace trireme::app {

// The option refers to `steps`, which must outlive it.
Option trace_option(TracedSteps& steps);

}  // namespace trireme::app
