// The peak FLOP rate of all ranks, the denominator of the utilization (MFU).
#pragma once

#include <string>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

struct PeakRate {
    double flops = 0;                                            // per second, of all ranks together
    std::string description = "measured FMA rate of all ranks";  // for users
    bool is_measured = true;                                     // false if it comes from a data sheet or file
};

// Collective over `group`, a group of all ranks. The rate of simulated devices comes from the cluster file, and
// the rate of GPUs from their data sheets if known. Any other rate is measured on all ranks at the same time,
// because ranks also compute at the same time in a run.
PeakRate find_peak_rate(comm::Communicator& group, const Job& job, int threads, const comm::Session& session);

// Collective over `group`. Measures the FLOP rate of CPUs again after the last step, because other processes
// may have used the cores during the first measurement. Returns the flops of `before` if they were not measured
// on CPUs.
double repeat_peak_measurement(const PeakRate& before, comm::Communicator& group, const Job& job, int threads,
                               const comm::Session& session);

}  // namespace trireme::setup
