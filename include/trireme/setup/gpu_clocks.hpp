// The clocks of a rank's GPU in a real run.
#pragma once

#include <string>
#include <vector>

#include "trireme/plan/cluster.hpp"

namespace trireme::setup {

struct GpuClocks {
    std::string device = {};                     // for example "NVIDIA H200"
    bool reports_joules = false;                 // the driver reports the energy of the GPU
    std::vector<plan::DeviceClock> clocks = {};  // without watts, highest first; empty if they are not known
    std::string unknown_because = {};            // why they are not known; otherwise empty
};

}  // namespace trireme::setup
