// `trireme plan`: works out a plan and shows it.
#pragma once

#include <iosfwd>

#include "trireme/tools/show_plan.hpp"

namespace trireme::app {

// To the output that is named, or else to `out`. Throws ConfigError where the options make no plan and where
// the output cannot be made; ResourceError when the disk is full.
void show_plan(const PlanConfig& config, std::ostream& out);

}  // namespace trireme::app
