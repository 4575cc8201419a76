// The options of `trireme plan`: those of `train`, and how the plan is shown.
#pragma once

#include <vector>

#include "app/options/option.hpp"
#include "trireme/tools/show_plan.hpp"

namespace trireme::app {

// The options refer to `config`, which must outlive them.
OptionGroup plan_options(PlanConfig& config);

}  // namespace trireme::app
