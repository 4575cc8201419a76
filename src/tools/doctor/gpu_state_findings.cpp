#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tools/doctor/findings.hpp"

namespace trireme::tools::doctor {
namespace {

constexpr double gigabyte = 1e9;

// A GPU that ranks would use, listed once.
struct TakenGpu {
    std::string place;  // "GPU-5d1c... of node7"
    GpuState state;
};

std::vector<TakenGpu> taken_states(const std::vector<RankFacts>& ranks) {
    const auto taken = gpus_taken(ranks);
    std::set<std::pair<int, std::string>> known;
    std::vector<TakenGpu> states;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const RankFacts& facts = ranks[rank];
        if (!taken[rank] || !known.emplace(facts.node, taken[rank]->id).second) continue;
        const auto place = std::ranges::find(facts.gpus, *taken[rank]) - facts.gpus.begin();
        if (static_cast<std::size_t>(place) >= facts.gpu_states.size()) continue;
        states.push_back({.place = fmt::format("{} of {}", taken[rank]->id, facts.host),
                          .state = facts.gpu_states[static_cast<std::size_t>(place)]});
    }
    return states;
}

// Returns "41" or "38 to 45"; empty if no GPU reports the value.
template <class Field>
std::string least_to_most(const std::vector<TakenGpu>& gpus, const Field& field, double unit = 1,
                          int digits = 0) {
    std::optional<double> least, most;
    for (const TakenGpu& gpu : gpus) {
        const std::optional<double> value = field(gpu.state);
        if (!value) continue;
        least = std::min(least.value_or(*value), *value);
        most = std::max(most.value_or(*value), *value);
    }
    if (!least) return "";
    const std::string first = fmt::format("{:.{}f}", *least / unit, digits);
    const std::string last = fmt::format("{:.{}f}", *most / unit, digits);
    return first == last ? first : first + " to " + last;
}

// Returns "115 W of 700": the present value, and the maximum if it is known.
std::string part(const std::string& now, const char* unit, const std::string& most) {
    if (now.empty()) return "";
    return fmt::format("{} {}{}", now, unit, most.empty() ? "" : " of " + most);
}

std::string words_of(const std::vector<TakenGpu>& gpus) {
    const auto reading = [&](auto member, double unit = 1, int digits = 0) {
        return least_to_most(
            gpus, [&](const GpuState& state) { return state.reading.*member; }, unit, digits);
    };
    const std::string highest =
        least_to_most(gpus, [](const GpuState& state) { return state.limits.highest_clock_mhz; });
    std::string text;
    for (const std::string& each :
         {part(reading(&device::GpuReading::watts), "W", reading(&device::GpuReading::power_limit_watts)),
          part(reading(&device::GpuReading::clock_mhz), "MHz", highest),
          part(reading(&device::GpuReading::celsius), "C", ""),
          part(reading(&device::GpuReading::used_bytes, gigabyte, 1), "GB used",
               reading(&device::GpuReading::total_bytes, gigabyte, 1))}) {
        if (!each.empty()) text += (text.empty() ? "" : ", ") + each;
    }
    return text.empty() ? "the driver tells nothing of them" : text;
}

Finding driver_finding(const std::vector<TakenGpu>& gpus) {
    std::set<std::string> drivers;
    for (const TakenGpu& gpu : gpus) {
        if (!gpu.state.complaint.empty())
            return {.name = "NVML",
                    .status = Status::missing,
                    .text = gpu.state.complaint,
                    .advice = "without it records say nothing of energy, power, clocks and temperature"};
        drivers.insert(gpu.state.driver.empty() ? "of unknown version" : gpu.state.driver);
    }
    return {.name = "driver",
            .status = Status::ok,
            .text = fmt::format("NVIDIA's, {}", fmt::join(drivers, " and "))};
}

// Adds the first finding that `test` returns, with the number of further GPUs that have one.
template <class Test>
void add_first(std::vector<Finding>& all, const std::vector<TakenGpu>& gpus, const Test& test) {
    std::optional<Finding> first;
    std::size_t more = 0;
    for (const TakenGpu& gpu : gpus) {
        std::optional<Finding> found = test(gpu);
        if (found && first) ++more;
        if (found && !first) first = std::move(found);
    }
    if (!first) return;
    if (more > 0) first->text += fmt::format("; and so {} more", more);
    all.push_back(std::move(*first));
}

// The driver itself uses less than 1 GB on all GPUs seen so far.
std::optional<Finding> memory_of_others(const TakenGpu& gpu) {
    constexpr double of_driver = 1.5 * gigabyte;
    const device::GpuReading& now = gpu.state.reading;
    if (!now.used_bytes || *now.used_bytes < of_driver) return std::nullopt;
    return Finding{.name = "GPU memory",
                   .text = fmt::format("{}: {:.1f} GB are in use before anything runs", gpu.place,
                                       *now.used_bytes / gigabyte),
                   .advice = "nvidia-smi says whose they are: another job, or what is left of one"};
}

std::optional<Finding> clock_of_heat(const TakenGpu& gpu) {
    constexpr double hot = 80;          // GPUs throttle from about this temperature
    constexpr double slow_share = 0.7;  // fraction of the highest clock
    const device::GpuReading& now = gpu.state.reading;
    const std::optional<double> highest = gpu.state.limits.highest_clock_mhz;
    if (!now.celsius || !now.clock_mhz || !highest) return std::nullopt;
    if (*now.celsius < hot || *now.clock_mhz >= slow_share * *highest) return std::nullopt;
    return Finding{.name = "GPU clocks",
                   .text = fmt::format("{}: {:.0f} MHz of {:.0f} at {:.0f} C", gpu.place, *now.clock_mhz,
                                       *highest, *now.celsius),
                   .advice = "it is hot, and slow for it: see to its cooling, or choose another node"};
}

std::optional<Finding> power_below_default(const TakenGpu& gpu) {
    constexpr double rounding = 0.5;  // watts
    const std::optional<double> limit = gpu.state.reading.power_limit_watts;
    const std::optional<double> usual = gpu.state.limits.default_power_limit_watts;
    if (!limit || !usual || *limit >= *usual - rounding) return std::nullopt;
    return Finding{
        .name = "GPU power",
        .text = fmt::format("{}: held to {:.0f} W, by default it has {:.0f}", gpu.place, *limit, *usual),
        .advice = fmt::format("it computes slower so; an administrator may lift that: nvidia-smi "
                              "--power-limit={:.0f}",
                              *usual)};
}

}  // namespace

std::vector<Finding> gpu_state_findings(const Facts& facts) {
    std::vector<TakenGpu> gpus = taken_states(facts.ranks);
    if (gpus.empty()) return {};
    std::vector<Finding> all{driver_finding(gpus)};
    std::erase_if(gpus, [](const TakenGpu& gpu) { return !gpu.state.complaint.empty(); });
    if (gpus.empty()) return all;
    all.push_back({.name = "GPU state", .status = Status::ok, .text = words_of(gpus)});
    add_first(all, gpus, memory_of_others);
    add_first(all, gpus, clock_of_heat);
    add_first(all, gpus, power_below_default);
    return all;
}

}  // namespace trireme::tools::doctor
