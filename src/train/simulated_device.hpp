// The device that kernels are said to run on where time is simulated.
#pragma once

#include <optional>
#include <string>

#include "trireme/device/stream.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

struct SimulatedDevice {
    std::string name;  // "A100-SXM4-80GB of a100-8x4"
    DeviceRates rates;
};

// That of --cluster; none: it is not given. Throws ConfigError for a file that cannot be read or describes no
// cluster, for numbers that its device has no rate of, and where time is the wall's.
std::optional<SimulatedDevice> simulated_device(const RunConfig& config);

// What its kernels take; nothing, where there is none.
KernelSeconds kernel_seconds_of(const std::optional<SimulatedDevice>& device);

}  // namespace trireme
