// What kernels are said to take where time is simulated and a machine like it was measured.
#pragma once

#include <optional>
#include <string>

#include "trireme/device/stream.hpp"
#include "trireme/plan/kernel_times.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

struct ProfiledKernels {
    KernelTimes times;
    double launch = 0;   // seconds from one to the next
    std::string source;  // "gpt2.json: Intel Xeon, cpu, 1 thread"
};

// Those of --profile, in a simulated run; none: it is not given, or measured none. Throws ConfigError for a
// file that cannot be read or is no profile, and for one of other numbers than the run's.
std::optional<ProfiledKernels> profiled_kernels(const RunConfig& config);

// What they take in place of what the device's rates say.
KernelSeconds kernel_seconds_of(const ProfiledKernels& kernels);

}  // namespace trireme
