// The peak FLOP rate of all ranks together: the denominator of the model FLOPs utilization (MFU).
#pragma once

#include <string>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

struct PeakRate {
    double flops = 0;                                            // FLOPs per second of all ranks together
    std::string description = "measured FMA rate of all ranks";  // for users
    bool is_measured = true;  // false if the rate comes from data sheets or the cluster file
};

// Collective over `group`, a group of all ranks. `threads` is the number of threads of this rank. The rate of
// the devices of --cluster comes from the cluster file, and the rate of GPUs from their data sheets if known.
// All other rates are measured. Ranks measure at the same time, because they compute at the same time in a run.
PeakRate find_peak_rate(comm::Communicator& group, const Job& job, int threads, const comm::Session& session);

// Collective over `group`, a group of all ranks. Called after the last step. If `before`, the first result of
// find_peak_rate(), was measured on CPUs, repeats find_peak_rate() and returns the new `flops`. The reason is
// that other processes may have used the cores during the first measurement. Otherwise returns `before.flops`.
double repeat_peak_measurement(const PeakRate& before, comm::Communicator& group, const Job& job, int threads,
                               const comm::Session& session);

}  // namespace trireme::setup
