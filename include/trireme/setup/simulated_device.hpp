// The devices that kernels are said to run on where time is simulated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::setup {

// One on each of some ranks that follow each other.
struct SimulatedDevice {
    std::string name;  // "A100-SXM4-80GB"
    device::DeviceRates rates = {};
    std::size_t memory = 0;  // bytes
    int ranks = 0;
};

struct SimulatedDevices {
    std::string cluster;
    std::vector<SimulatedDevice> kinds;  // rank by rank, from 0

    const SimulatedDevice& of(int rank) const;
    double flops() const;         // a second, of all ranks
    std::string names() const;    // "A100-SXM4-80GB and V100-SXM2-32GB of mixed"
    std::string counted() const;  // "4 x A100-SXM4-80GB and 8 x V100-SXM2-32GB of mixed"
};

// Those of --cluster; none: it is not given. Throws ConfigError for a file that cannot be read or describes no
// cluster, for one with fewer devices than ranks, for numbers that one of their devices has no rate of, and
// where time is the wall's.
std::optional<SimulatedDevices> simulated_devices(const config::RunConfig& config, int ranks);
// The devices of a --cluster that is given. The time need not be simulated.
SimulatedDevices described_devices(const config::RunConfig& config, int ranks);

// Says why the device of `rank` does not have that many bytes; empty if it has, or if no device is described.
std::string lack_of_device_memory(const std::optional<SimulatedDevices>& devices, int rank, std::size_t bytes);

// What a rank's kernels take; nothing, where there is no such device.
device::KernelSeconds kernel_seconds_of(const std::optional<SimulatedDevices>& devices, int rank);

}  // namespace trireme::setup
