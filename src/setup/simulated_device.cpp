#include "trireme/setup/simulated_device.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/plan/cluster.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

device::DeviceRates rates_of(const plan::ClusterDevice& device, const config::RunConfig& config) {
    const char* const numbers = name_of(dtype_of(config.precision.dtype));
    const auto rate = device.flops.find(numbers);
    if (rate == device.flops.end()) {
        throw ConfigError(cat(config.costs.cluster, " has no device.flops.", numbers, ", and --dtype is ",
                              numbers, "; add the rate of ", device.name,
                              " in FLOP/s, or use another --dtype"));
    }
    return {.flops = rate->second, .bandwidth = device.bandwidth, .launch = device.launch};
}

plan::Cluster cluster_for(const std::string& path, int ranks) {
    plan::Cluster cluster = plan::cluster_from_json(read_regular_file(path, "--cluster"), path);
    if (static_cast<std::size_t>(ranks) > cluster.devices()) {
        throw ConfigError(cat("the job has ", ranks, " ranks and --cluster ", path, " describes ",
                              cluster.devices(), " devices; start fewer ranks, or describe more"));
    }
    return cluster;
}

// Returns "8 x A100 and 4 x V100": each name once, in the order of first ranks.
std::string listed(const SimulatedDevices& devices, bool counts) {
    std::vector<SimulatedDevice> named;
    for (const SimulatedDevice& kind : devices.kinds) {
        const auto same = [&](const SimulatedDevice& other) { return other.name == kind.name; };
        const auto known = std::ranges::find_if(named, same);
        known == named.end() ? named.push_back(kind) : void(known->ranks += kind.ranks);
    }
    std::string text;
    for (const SimulatedDevice& kind : named) {
        text += cat(text.empty() ? "" : " and ", counts ? cat(kind.ranks, " x ") : "", kind.name);
    }
    return cat(text, " of ", devices.cluster);
}

}  // namespace

const SimulatedDevice& SimulatedDevices::of(int rank) const {
    for (const SimulatedDevice& kind : kinds) {
        if (rank < kind.ranks) return kind;
        rank -= kind.ranks;
    }
    throw BugError("a rank has no device");
}

double SimulatedDevices::flops() const {
    double sum = 0;
    for (const SimulatedDevice& kind : kinds) sum += kind.rates.flops * kind.ranks;
    return sum;
}

std::string SimulatedDevices::names() const { return listed(*this, false); }
std::string SimulatedDevices::counted() const { return listed(*this, true); }

std::optional<SimulatedDevices> simulated_devices(const config::RunConfig& config, int ranks) {
    const std::string& path = config.costs.cluster;
    if (path.empty()) return std::nullopt;
    if (!device::time_is_simulated()) {
        throw ConfigError(
            cat("--cluster ", path, " is for simulated time; run it with `trireme simulate`, or leave it out"));
    }
    return described_devices(config, ranks);
}

SimulatedDevices described_devices(const config::RunConfig& config, int ranks) {
    const plan::Cluster cluster = cluster_for(config.costs.cluster, ranks);
    SimulatedDevices devices{.cluster = cluster.name, .kinds = {}};
    int left = ranks;
    for (const plan::NodeGroup& group : cluster.groups) {
        const int own = static_cast<int>(std::min(static_cast<std::size_t>(left), group.devices()));
        if (own == 0) break;
        devices.kinds.push_back({.name = group.device.name,
                                 .rates = rates_of(group.device, config),
                                 .memory = group.device.memory,
                                 .ranks = own});
        left -= own;
    }
    return devices;
}

std::string lack_of_device_memory(const std::optional<SimulatedDevices>& devices, int rank, std::size_t bytes) {
    if (!devices || bytes <= devices->of(rank).memory) return {};
    const SimulatedDevice& device = devices->of(rank);
    return cat("rank ", rank, " needs ", bytes_text(bytes), " and ", device.name, " of ", devices->cluster,
               " has ", bytes_text(device.memory),
               "; use a smaller --batch or --max-length, more --microbatches, --recompute, or more ranks "
               "with --pipe or --tensor");
}

device::KernelSeconds kernel_seconds_of(const std::optional<SimulatedDevices>& devices, int rank) {
    if (!devices) return {};
    return [rates = devices->of(rank).rates](const device::Cost& cost, double clock) {
        return rates.seconds(cost, clock);
    };
}

}  // namespace trireme::setup
