#include "train/simulated_device.hpp"

#include "train/setup.hpp"
#include "train/text_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/plan/cluster.hpp"

namespace trireme {

std::optional<SimulatedDevice> simulated_device(const RunConfig& config) {
    const std::string& path = config.costs.cluster;
    if (path.empty()) return std::nullopt;
    if (!time_is_simulated()) {
        throw ConfigError(
            cat("--cluster ", path, " is for simulated time; run it with `trireme simulate`, or leave it out"));
    }
    const Cluster cluster = cluster_from_json(read_text(path, "--cluster"), path);
    const ClusterDevice& device = cluster.device;
    const char* const numbers = name_of(dtype_of(config.precision.dtype));
    const auto rate = device.flops.find(numbers);
    if (rate == device.flops.end()) {
        throw ConfigError(cat(path, " has no device.flops.", numbers, ", and --dtype is ", numbers,
                              "; say how many ", device.name, " makes a second, or use another --dtype"));
    }
    return SimulatedDevice{
        .name = cat(device.name, " of ", cluster.name),
        .rates = {.flops = rate->second, .bandwidth = device.bandwidth, .launch = device.launch}};
}

KernelSeconds kernel_seconds_of(const std::optional<SimulatedDevice>& device) {
    if (!device) return {};
    return [rates = device->rates](const Cost& cost, double clock) { return rates.seconds(cost, clock); };
}

}  // namespace trireme
