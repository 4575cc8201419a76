// What stages cost: "F=1,I=1,W=1,send=0,reduce=0,step=0", or such texts with ; between them, one for each
// stage.
#pragma once

#include <vector>

#include "app/options/option.hpp"
#include "trireme/config/config.hpp"

namespace trireme::app {

// The option refers to `costs`, which must outlive it. What a text leaves out costs as much as by default.
Option cost_option(std::vector<StageCost>& costs);

}  // namespace trireme::app
