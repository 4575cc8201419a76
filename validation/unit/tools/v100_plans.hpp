// Plans of pipelines with unit costs on a cluster of V100. At a lower clock, 0.9 of a pass takes longer.
#pragma once

#include <string>

#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {

PlanConfig make_v100_config(int pipe, std::size_t microbatches, config::Energy energy,
                            const std::string& schedule = "1f1b",
                            config::Reconfigure reconfigure = config::Reconfigure::none);

}  // namespace trireme::tools
