// What a run says of itself before its first step.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/records/run_directory.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme {

struct RunPlace {
    const Job& job;
    const Plan& plan;
    const Session& session;
    std::vector<std::string> hosts;       // of each rank
    int threads = 1;                      // per rank
    std::vector<std::string> cores = {};  // that each may run on; empty: no rank is a process
    std::string gpu_messages = {};        // which way they take, and why; empty: there are none
};

// All but the measured peak.
Manifest manifest_of(const RunPlace& run);

}  // namespace trireme
