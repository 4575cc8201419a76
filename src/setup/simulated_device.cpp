#include "trireme/setup/simulated_device.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

device::DeviceRates make_rates(const plan::ClusterDevice& device, const config::RunConfig& config) {
    const char* const dtype = to_string(to_dtype(config.precision.dtype));
    const auto rate = device.flops.find(dtype);
    if (rate == device.flops.end()) {
        throw ConfigError(cat(config.costs.cluster, " has no device.flops.", dtype, ", but --dtype is ", dtype,
                              "; add the rate of ", device.name, " in FLOP/s, or use another --dtype"));
    }
    return {.flops = rate->second, .bandwidth = device.bandwidth, .launch = device.launch};
}

// Returns, for example, "8 x A100 and 4 x V100 of mixed" for a cluster named "mixed", or without counts "A100
// and V100 of mixed". Kinds with the same name are combined. Names are in the order of their lowest ranks.
std::string describe_kinds(const SimulatedDevices& devices, bool shows_counts) {
    std::vector<SimulatedDevice> kinds_by_name;
    for (const SimulatedDevice& kind : devices.kinds) {
        const auto has_same_name = [&](const SimulatedDevice& other) { return other.name == kind.name; };
        const auto known_kind = std::ranges::find_if(kinds_by_name, has_same_name);
        known_kind == kinds_by_name.end() ? kinds_by_name.push_back(kind)
                                          : void(known_kind->ranks += kind.ranks);
    }
    std::string text;
    for (const SimulatedDevice& kind : kinds_by_name) {
        text += cat(text.empty() ? "" : " and ", shows_counts ? cat(kind.ranks, " x ") : "", kind.name);
    }
    return cat(text, " of ", devices.cluster);
}

}  // namespace

std::size_t SimulatedDevices::find_kind(int rank) const {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        if (rank < kinds[kind].ranks) return kind;
        rank -= kinds[kind].ranks;
    }
    throw BugError("a rank has no simulated device");
}

double SimulatedDevices::compute_total_flops() const {
    double sum = 0;
    for (const SimulatedDevice& kind : kinds) sum += kind.rates.flops * kind.ranks;
    return sum;
}

std::string SimulatedDevices::list_names() const { return describe_kinds(*this, false); }
std::string SimulatedDevices::list_counts() const { return describe_kinds(*this, true); }

plan::Cluster read_cluster(const std::string& path, int ranks) {
    plan::Cluster cluster = plan::parse_cluster(read_regular_file(path, "--cluster"), path);
    if (static_cast<std::size_t>(ranks) > cluster.count_devices()) {
        throw ConfigError(cat("the job has ", ranks, " ranks, but --cluster ", path, " describes only ",
                              format_count(cluster.count_devices(), "device"),
                              "; start fewer ranks, or describe more devices"));
    }
    return cluster;
}

std::optional<SimulatedDevices> read_simulated_devices(const config::RunConfig& config, int ranks) {
    const std::string& path = config.costs.cluster;
    if (path.empty()) return std::nullopt;
    if (!device::time_is_simulated()) {
        throw ConfigError(
            cat("--cluster ", path, " needs simulated time; use `trireme simulate`, or remove --cluster"));
    }
    return read_cluster_devices(config, ranks);
}

SimulatedDevices read_cluster_devices(const config::RunConfig& config, int ranks) {
    const plan::Cluster cluster = read_cluster(config.costs.cluster, ranks);
    SimulatedDevices devices{.cluster = cluster.name, .kinds = {}};
    int remaining_ranks = ranks;
    for (const plan::NodeGroup& group : cluster.groups) {
        const int group_ranks =
            static_cast<int>(std::min(static_cast<std::size_t>(remaining_ranks), group.count_devices()));
        if (group_ranks == 0) break;
        devices.kinds.push_back({.name = group.device.name,
                                 .rates = make_rates(group.device, config),
                                 .memory = group.device.memory,
                                 .ranks = group_ranks,
                                 .clocks = group.device.clocks,
                                 .host = group.host});
        remaining_ranks -= group_ranks;
    }
    return devices;
}

std::string explain_lack_of_device_memory(const std::optional<SimulatedDevices>& devices, int rank,
                                          std::size_t bytes) {
    if (!devices || bytes <= devices->find_device(rank).memory) return {};
    const SimulatedDevice& device = devices->find_device(rank);
    return cat("rank ", rank, " needs ", format_bytes(bytes), ", but its device, ", device.name, " of ",
               devices->cluster, ", has only ", format_bytes(device.memory),
               "; use a smaller --batch or --max-length, more --microbatches, --recompute, or more ranks "
               "with --pipe or --tensor");
}

device::KernelTimePredictor make_kernel_seconds(const std::optional<SimulatedDevices>& devices, int rank) {
    if (!devices) return {};
    return [rates = devices->find_device(rank).rates](const device::Cost& cost, double clock) {
        return rates.seconds(cost, clock);
    };
}

}  // namespace trireme::setup
