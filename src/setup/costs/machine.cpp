#include "trireme/setup/machine.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/cluster.hpp"
#include "trireme/policy/slowness_watch.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/profiled_kernels.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/setup/stage_work.hpp"

namespace trireme::setup {
namespace {

// Describes the devices of the ranks 0 to rank_count - 1, for example "1 thread of Intel Xeon". If there are
// several kinds of devices, lists the ranks of each kind: "1 thread of Intel Xeon (ranks 0-3) and ...".
std::string describe_devices(const plan::RankProfiles& profiles, int rank_count) {
    std::string text;
    for (std::size_t kind = 0; kind < profiles.kinds.size(); ++kind) {
        std::vector<int> ranks;
        for (int rank = 0; rank < rank_count; ++rank) {
            if (profiles.find_kind(rank) == kind) ranks.push_back(rank);
        }
        if (ranks.empty()) continue;
        const plan::Profile& profile = profiles.kinds[kind];
        text += cat(text.empty() ? "" : " and ",
                    format_count(static_cast<std::size_t>(profile.threads), "thread"), " of ", profile.machine);
        if (std::ssize(ranks) < rank_count) text += cat(" (", layout::ranks_to_string(ranks), ')');
    }
    return text;
}

// Describes how the profiles were measured.
std::string describe_profiles(const plan::RankProfiles& profiles, int ranks) {
    const plan::Profile& profile = profiles.kinds.front();  // all kinds were measured with the same micro-batch
    const bool lacks_kernels =
        std::ranges::any_of(profiles.kinds, [](const plan::Profile& each) { return each.kernels.empty(); });
    return cat("measured with ", format_with_commas(profile.microbatch.rows), " rows in a micro-batch of ",
               format_count(profile.microbatch.samples, "sample"), ", ", profile.dtype, ", ",
               describe_devices(profiles, ranks),
               lacks_kernels ? "; the profile has no kernel times, so the costs of other micro-batches "
                               "are estimates (a new profile has them)"
                             : "");
}

// Returns a machine of equal ranks on which messages take no time and a large matmul runs at `flops_per_rank`
// FLOP/s. If `flops_per_rank` is 0, kernel times are those of make_relative_kernel_seconds().
Machine make_relative_machine(const Job& job, double flops_per_rank) {
    constexpr double flops = 1e15;
    const device::KernelTimePredictor predict = make_relative_kernel_seconds(job, 0);
    const double relative_rate = flops / predict({.kernel = "linear", .flops = flops}, 1);
    const double factor = flops_per_rank > 0 ? relative_rate / flops_per_rank : 1;
    return make_uniform_machine(adapt_kernel_seconds(
        [=](const device::Cost& cost, double clock) { return factor * predict(cost, clock); }));
}

void add_kind(const device::KernelTimePredictor& predict, const std::vector<plan::DeviceClock>& clocks,
              Machine& machine) {
    machine.kernel_seconds.push_back(adapt_kernel_seconds(predict));
    machine.clocks.push_back(clocks);
    std::vector<plan::KernelSeconds>& lower_clocks = machine.lower_clock_seconds.emplace_back();
    for (std::size_t k = 1; k < clocks.size(); ++k)
        lower_clocks.push_back(adapt_kernel_seconds(predict, clocks[k].speed));
}

}  // namespace

const plan::KernelSeconds& Machine::find_kernel_seconds(std::size_t kind, std::size_t clock) const {
    const std::size_t index = clock == 0 ? 0 : std::min(clock, lower_clock_seconds[kind].size());
    return index == 0 ? kernel_seconds[kind] : lower_clock_seconds[kind][index - 1];
}

double Machine::find_busy_watts(std::size_t kind, std::size_t clock) const {
    if (clocks.empty() || clocks[kind].empty()) return 0;
    const plan::DeviceClock& each = clocks[kind][std::min(clock, clocks[kind].size() - 1)];
    return each.busy_watts - each.idle_watts;
}

std::span<const plan::DeviceClock> Machine::find_clocks(int rank) const {
    if (clocks.empty()) return {};
    return clocks[find_kind(rank)];
}

Machine read_machine(const config::RunConfig& config, int ranks) {
    const SimulatedDevices devices = read_cluster_devices(config, ranks);
    const RankKernels kernels = read_profiled_kernels(config, ranks);
    const auto cluster = std::make_shared<plan::Cluster>(read_cluster(config.costs.cluster, ranks));
    const bool is_network_free = config.costs.network == config::NetworkKind::zero_time;
    if (is_network_free) *cluster = remove_network_cost(std::move(*cluster));
    Machine machine;
    std::map<std::pair<std::size_t, const ProfiledKernels*>, std::size_t> kinds;
    std::vector<std::size_t> kind_of_rank;
    for (int rank = 0; rank < ranks; ++rank) {
        const ProfiledKernels* const profiled = kernels.find_kernels(rank);
        const std::pair key{devices.find_kind(rank), profiled};
        const auto [kind, is_new] = kinds.try_emplace(key, kinds.size());
        if (is_new) {
            add_kind(
                profiled ? make_kernel_seconds(*profiled) : make_kernel_seconds(std::optional(devices), rank),
                devices.find_device(rank).clocks, machine);
        }
        kind_of_rank.push_back(kind->second);
    }
    machine.find_kind = [kinds_by_rank = std::move(kind_of_rank)](int rank) {
        return kinds_by_rank[static_cast<std::size_t>(rank)];
    };
    const std::string profiles = kernels.describe_source();
    machine.description = cat("predicted for ", devices.list_counts(),
                              profiles.empty() ? "" : ", with the kernel times of " + profiles,
                              is_network_free ? ", if messages take no time" : "");
    machine.find_node = [cluster](int rank) { return cluster->find_node(static_cast<std::size_t>(rank)); };
    machine.find_link = [cluster](int a, int b, std::size_t leaving_messages) {
        return cluster->find_link(static_cast<std::size_t>(a), static_cast<std::size_t>(b), leaving_messages);
    };
    return machine;
}

Machine make_profiled_machine(std::shared_ptr<const plan::RankProfiles> profiles, int ranks) {
    Machine machine;
    for (const plan::Profile& profile : profiles->kinds) {
        machine.kernel_seconds.push_back(adapt_kernel_seconds(
            profile.kernels.empty()
                ? make_typical_kernel_seconds()
                : make_kernel_seconds(
                      {.times = plan::KernelTimes(profile.kernels), .launch = profile.launch, .source = {}})));
    }
    machine.description = describe_profiles(*profiles, ranks);
    machine.find_kind = [profiles](int rank) { return profiles->find_kind(rank); };
    machine.find_node = [profiles](int rank) {
        // Nodes have the size that the profile of the first kind of device states, also for other kinds.
        const std::vector<layout::LinkLevel>& levels = profiles->kinds.front().links;
        return levels.size() < 2 ? std::size_t{0} : static_cast<std::size_t>(rank / levels.front().ranks);
    };
    machine.find_link = [profiles](int a, int b, std::size_t /*leaving_messages*/) {
        constexpr double typical_bytes = 1e6;
        return profiles->find_slower_link(a, b, typical_bytes);
    };
    machine.profiles = std::move(profiles);
    return machine;
}

std::vector<double> find_slowness_on_machine(const Machine& machine, std::vector<double> observed) {
    if (observed.empty() || machine.kernel_seconds.size() == 1) return observed;
    std::vector<double> seconds;
    for (int rank = 0; rank < static_cast<int>(observed.size()); ++rank)
        seconds.push_back(machine.kernel_seconds[machine.find_kind(rank)]("linear", {.flops = 1e12}));
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    const double median = sorted[(sorted.size() - 1) / 2];
    for (std::size_t rank = 0; rank < observed.size(); ++rank) {
        const double known = seconds[rank] / median;
        if (known > policy::SlownessRules{}.slow_factor) observed[rank] = std::max(1.0, observed[rank] / known);
    }
    return observed;
}

Machine make_uniform_machine(plan::KernelSeconds kernel_seconds) {
    Machine machine;
    machine.kernel_seconds.push_back(std::move(kernel_seconds));
    machine.find_kind = [](int /*rank*/) { return std::size_t{0}; };
    machine.find_node = [](int /*rank*/) { return std::size_t{0}; };
    machine.find_link = [](int /*a*/, int /*b*/, std::size_t /*leaving_messages*/) { return layout::Link{}; };
    return machine;
}

Machine choose_machine(const Job& job, int ranks, double flops) {
    if (job.devices) return read_machine(job.config, ranks);
    return job.profiles ? make_profiled_machine(job.profiles, ranks)
                        : make_relative_machine(job, flops / ranks);
}

layout::Link find_slow_link(const Machine& machine, int ranks) {
    constexpr double typical_bytes = 1 << 22;
    if (ranks < 2) return {};
    const layout::Link to_next_rank = machine.find_link(0, 1, 1);
    const layout::Link to_last_rank = machine.find_link(0, ranks - 1, 1);
    return to_last_rank.predict_seconds(typical_bytes) > to_next_rank.predict_seconds(typical_bytes)
               ? to_last_rank
               : to_next_rank;
}

std::vector<int> list_nodes(const Machine& machine, int ranks) {
    std::map<std::size_t, int> lowest_ranks;
    std::vector<int> nodes;
    for (int rank = 0; rank < ranks; ++rank)
        nodes.push_back(lowest_ranks.try_emplace(machine.find_node(rank), rank).first->second);
    return nodes;
}

}  // namespace trireme::setup
