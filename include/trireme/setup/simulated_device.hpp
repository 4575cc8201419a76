// The devices on which kernels run in simulated time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/plan/cluster.hpp"

namespace trireme::setup {

// A kind of device, and the number of consecutive ranks that run on devices of this kind.
struct SimulatedDevice {
    std::string name;  // for example "A100-SXM4-80GB"
    device::DeviceRates rates = {};
    std::size_t memory = 0;                      // bytes
    int ranks = 0;                               // number of ranks
    std::vector<plan::DeviceClock> clocks = {};  // see plan::ClusterDevice
    std::optional<layout::Link> host = {};       // see plan::NodeGroup
};

struct SimulatedDevices {
    std::string cluster;                 // name of the cluster
    std::vector<SimulatedDevice> kinds;  // one per group of nodes that ranks use, in the order of ranks

    std::size_t find_kind(int rank) const;  // index into `kinds`; throws BugError if the rank has no device
    const SimulatedDevice& find_device(int rank) const { return kinds[find_kind(rank)]; }
    double compute_total_flops() const;  // per second, summed over all ranks
    std::string list_names() const;      // for example "A100-SXM4-80GB and V100-SXM2-32GB of mixed"
    std::string list_counts() const;     // for example "4 x A100-SXM4-80GB and 8 x V100-SXM2-32GB of mixed"
};

// Returns the devices of --cluster, or nothing if --cluster is not set. Throws ConfigError if --cluster is set
// but time is not simulated, or for the reasons of read_cluster_devices().
std::optional<SimulatedDevices> read_simulated_devices(const config::RunConfig& config, int ranks);
// Returns the devices of the ranks 0 to ranks - 1 in --cluster, which must be set. Time need not be simulated.
// Throws ConfigError if the file cannot be read or is no cluster file. Throws ConfigError, too, if the cluster
// has fewer devices than `ranks`, or if a device has no FLOP rate for --dtype.
SimulatedDevices read_cluster_devices(const config::RunConfig& config, int ranks);

// Reads the cluster file `path`. Throws ConfigError if the file cannot be read or is no cluster file, or if the
// cluster has fewer devices than `ranks`.
plan::Cluster read_cluster(const std::string& path, int ranks);

// Returns a message if the memory of the rank's device is too small for `bytes` bytes. Returns an empty text if
// the memory is large enough, or if `devices` is empty.
std::string explain_lack_of_device_memory(const std::optional<SimulatedDevices>& devices, int rank,
                                          std::size_t bytes);

// Returns a function that predicts the seconds of a kernel from the rates of the rank's device. The function is
// empty if `devices` is empty.
device::KernelTimePredictor make_kernel_seconds(const std::optional<SimulatedDevices>& devices, int rank);

}  // namespace trireme::setup
