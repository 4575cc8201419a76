// The devices on which kernels run in simulated time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::setup {

// The device of several consecutive ranks.
struct SimulatedDevice {
    std::string name;  // "A100-SXM4-80GB"
    device::DeviceRates rates = {};
    std::size_t memory = 0;  // bytes
    int ranks = 0;
};

struct SimulatedDevices {
    std::string cluster;
    std::vector<SimulatedDevice> kinds;  // in the order of ranks, from rank 0

    const SimulatedDevice& of(int rank) const;
    double flops() const;         // per second, of all ranks
    std::string names() const;    // "A100-SXM4-80GB and V100-SXM2-32GB of mixed"
    std::string counted() const;  // "4 x A100-SXM4-80GB and 8 x V100-SXM2-32GB of mixed"
};

// Returns the devices of --cluster, or nothing if it is not set. Throws ConfigError if the file cannot be read
// or is no cluster file, has fewer devices than ranks, lacks a rate for --dtype, or if time is not simulated.
std::optional<SimulatedDevices> simulated_devices(const config::RunConfig& config, int ranks);
// Returns the devices of --cluster, which must be set. Time need not be simulated.
SimulatedDevices described_devices(const config::RunConfig& config, int ranks);

// Returns why the device of `rank` does not have `bytes` bytes; empty if it has, or if no device is described.
std::string lack_of_device_memory(const std::optional<SimulatedDevices>& devices, int rank, std::size_t bytes);

// Returns the kernel times of a rank's device; empty if there are no simulated devices.
device::KernelSeconds kernel_seconds_of(const std::optional<SimulatedDevices>& devices, int rank);

}  // namespace trireme::setup
