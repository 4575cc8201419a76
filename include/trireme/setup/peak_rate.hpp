// What the arithmetic of a run is compared with.
#pragma once

#include <string>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

struct PeakRate {
    double flops = 0;  // a second, of all ranks together
    std::string is = "measured FMA rate of all ranks";
    bool is_measured = true;
};

// Collective over `group`. A simulated device's rate is known, and a GPU's from its data sheet, if that is
// known here; any other is measured, by all ranks at once, as they will run.
PeakRate peak_of_all(comm::Communicator& group, const Job& job, int threads, const comm::Session& session);

// Collective over `group`. The same measured again, after the last step: other processes may have had the
// cores before. What was not measured on cores stays as it is.
double peak_again(const PeakRate& before, comm::Communicator& group, const Job& job, int threads,
                  const comm::Session& session);

}  // namespace trireme::setup
