// The peak FLOP rate that the arithmetic of a run is compared with.
#pragma once

#include <string>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

struct PeakRate {
    double flops = 0;  // per second, of all ranks together
    // Description for people.
    std::string is = "measured FMA rate of all ranks";
    bool is_measured = true;
};

// Collective over `group`. The rate of simulated devices is given, and that of GPUs comes from their data
// sheets if known. Other rates are measured, on all ranks at the same time as in a run.
PeakRate peak_of_all(comm::Communicator& group, const Job& job, int threads, const comm::Session& session);

// Collective over `group`. Repeats a measurement on CPUs after the last step, because other processes may have
// used the cores earlier. Returns other rates unchanged.
double peak_again(const PeakRate& before, comm::Communicator& group, const Job& job, int threads,
                  const comm::Session& session);

}  // namespace trireme::setup
