// The devices on which kernels run in simulated time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::setup {

// A kind of device, and the number of consecutive ranks that run on devices of this kind.
struct SimulatedDevice {
    std::string name;  // "A100-SXM4-80GB"
    device::DeviceRates rates = {};
    std::size_t memory = 0;  // bytes
    int ranks = 0;
};

struct SimulatedDevices {
    std::string cluster;                 // its name
    std::vector<SimulatedDevice> kinds;  // in the order of ranks, from rank 0

    const SimulatedDevice& find_device(int rank) const;
    double compute_total_flops() const;  // per second, over all ranks
    std::string list_names() const;      // "A100-SXM4-80GB and V100-SXM2-32GB of mixed"
    std::string list_counts() const;     // "4 x A100-SXM4-80GB and 8 x V100-SXM2-32GB of mixed"
};

// Returns the devices of --cluster, or nothing if --cluster is not set. Throws ConfigError if time is not
// simulated, or for the reasons of read_cluster_devices().
std::optional<SimulatedDevices> read_simulated_devices(const config::RunConfig& config, int ranks);
// Returns the devices of --cluster, which must be set. Time need not be simulated. Throws ConfigError if the
// file cannot be read or is no cluster file, has fewer devices than `ranks`, or lacks a rate for --dtype.
SimulatedDevices read_cluster_devices(const config::RunConfig& config, int ranks);

// Returns why the device of `rank` cannot hold `bytes` bytes. Empty if it can, or if `devices` is empty.
std::string explain_lack_of_device_memory(const std::optional<SimulatedDevices>& devices, int rank,
                                          std::size_t bytes);

// Returns the function that computes kernel times from the rates of a rank's device; empty if `devices` is.
device::KernelTimePredictor make_kernel_seconds(const std::optional<SimulatedDevices>& devices, int rank);

}  // namespace trireme::setup
