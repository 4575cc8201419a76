#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tools/doctor/findings.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools::doctor {
namespace {

constexpr double gigabyte = 1e9;

// A GPU that at least one rank would use in a run, and its state.
struct ChosenGpu {
    std::string name;  // for example "GPU-5d1c... of node7"
    GpuState state;
};

// Returns the GPUs that the ranks would use. A GPU is listed once, even if several ranks would use it.
std::vector<ChosenGpu> list_chosen_gpus(const std::vector<RankFacts>& ranks) {
    const auto chosen_gpus = choose_gpus(ranks);
    std::set<std::pair<int, std::string>> listed_gpus;
    std::vector<ChosenGpu> gpus;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const RankFacts& facts = ranks[rank];
        if (!chosen_gpus[rank] || !listed_gpus.emplace(facts.node, chosen_gpus[rank]->id).second) continue;
        const auto index = std::ranges::find(facts.gpus, *chosen_gpus[rank]) - facts.gpus.begin();
        if (static_cast<std::size_t>(index) >= facts.gpu_states.size()) continue;
        gpus.push_back({.name = fmt::format("{} of {}", chosen_gpus[rank]->id, facts.host),
                        .state = facts.gpu_states[static_cast<std::size_t>(index)]});
    }
    return gpus;
}

// Returns the range of `get_value(state)` over the GPUs, divided by `unit` and with `digits` decimals. The
// result is, for example, "41" or "38 to 45". Empty if no GPU reports the value.
template <class GetValue>
std::string format_range(const std::vector<ChosenGpu>& gpus, const GetValue& get_value, double unit = 1,
                         int digits = 0) {
    std::optional<double> min_value, max_value;
    for (const ChosenGpu& gpu : gpus) {
        const std::optional<double> value = get_value(gpu.state);
        if (!value) continue;
        min_value = std::min(min_value.value_or(*value), *value);
        max_value = std::max(max_value.value_or(*value), *value);
    }
    if (!min_value) return "";
    const std::string min_text = fmt::format("{:.{}f}", *min_value / unit, digits);
    const std::string max_text = fmt::format("{:.{}f}", *max_value / unit, digits);
    return min_text == max_text ? min_text : min_text + " to " + max_text;
}

// Returns "115 W of 700" for the present value "115", the unit "W" and the maximum value "700", which may be
// empty. Returns an empty text if `value` is empty.
std::string format_reading(const std::string& value, const char* unit, const std::string& max_value) {
    if (value.empty()) return "";
    return fmt::format("{} {}{}", value, unit, max_value.empty() ? "" : " of " + max_value);
}

std::string describe(const std::vector<ChosenGpu>& gpus) {
    const auto format_member = [&](auto member, double unit = 1, int digits = 0) {
        return format_range(
            gpus, [&](const GpuState& state) { return state.reading.*member; }, unit, digits);
    };
    const std::string highest_clock =
        format_range(gpus, [](const GpuState& state) { return state.limits.highest_clock_mhz; });
    std::string text;
    for (const std::string& each :
         {format_reading(format_member(&device::GpuReading::watts), "W",
                         format_member(&device::GpuReading::power_limit_watts)),
          format_reading(format_member(&device::GpuReading::clock_mhz), "MHz", highest_clock),
          format_reading(format_member(&device::GpuReading::celsius), "C", ""),
          format_reading(format_member(&device::GpuReading::used_bytes, gigabyte, 1), "GB used",
                         format_member(&device::GpuReading::total_bytes, gigabyte, 1))}) {
        if (!each.empty()) text += (text.empty() ? "" : ", ") + each;
    }
    return text.empty() ? "the driver reports no power, clocks, temperature or memory" : text;
}

// Reports the versions of the drivers, or the first complaint of NVML.
Finding judge_driver(const std::vector<ChosenGpu>& gpus) {
    std::set<std::string> drivers;
    for (const ChosenGpu& gpu : gpus) {
        if (!gpu.state.complaint.empty())
            return {.name = "NVML",
                    .status = Status::missing,
                    .text = gpu.state.complaint,
                    .advice = "without NVML, records contain no energy, power, clocks or temperature"};
        drivers.insert(gpu.state.driver.empty() ? "of unknown version" : gpu.state.driver);
    }
    return {.name = "driver",
            .status = Status::ok,
            .text = fmt::format("NVIDIA driver {}", fmt::join(drivers, " and "))};
}

// Applies `find_fault` to each GPU, and adds the first finding to `all`. If `find_fault` also finds a fault of
// further GPUs, the text of the first finding contains their number.
template <class FindFault>
void add_first_finding(std::vector<Finding>& all, const std::vector<ChosenGpu>& gpus,
                       const FindFault& find_fault) {
    std::optional<Finding> first;
    std::size_t further_gpus = 0;
    for (const ChosenGpu& gpu : gpus) {
        std::optional<Finding> finding = find_fault(gpu);
        if (finding && first) ++further_gpus;
        if (finding && !first) first = std::move(finding);
    }
    if (!first) return;
    if (further_gpus > 0)
        first->text += fmt::format("; the same holds for {}", format_count(further_gpus, "more GPU"));
    all.push_back(std::move(*first));
}

// Warns of memory that other programs use. The driver itself used less than 1 GB on each GPU that was tested,
// which is below the threshold.
std::optional<Finding> find_used_memory(const ChosenGpu& gpu) {
    constexpr double max_driver_bytes = 1.5 * gigabyte;
    const std::optional<double> used_bytes = gpu.state.reading.used_bytes;
    if (!used_bytes || *used_bytes < max_driver_bytes) return std::nullopt;
    return Finding{
        .name = "GPU memory",
        .text = fmt::format("{}: {:.1f} GB are in use before anything runs", gpu.name, *used_bytes / gigabyte),
        .advice = "nvidia-smi shows the process that uses this memory: another job, or the remains of one"};
}

// Warns of a GPU that is both hot and slow. A low clock alone may mean that the GPU is idle.
std::optional<Finding> find_throttling(const ChosenGpu& gpu) {
    constexpr double hot_celsius = 80;           // GPUs throttle above about this temperature
    constexpr double slow_clock_fraction = 0.7;  // fraction of the highest clock
    const device::GpuReading& reading = gpu.state.reading;
    const std::optional<double> highest_mhz = gpu.state.limits.highest_clock_mhz;
    if (!reading.celsius || !reading.clock_mhz || !highest_mhz) return std::nullopt;
    if (*reading.celsius < hot_celsius || *reading.clock_mhz >= slow_clock_fraction * *highest_mhz)
        return std::nullopt;
    return Finding{.name = "GPU clocks",
                   .text = fmt::format("{}: {:.0f} MHz of at most {:.0f} MHz at {:.0f} C", gpu.name,
                                       *reading.clock_mhz, *highest_mhz, *reading.celsius),
                   .advice = "the GPU is slow because it is hot: check its cooling, or choose another node"};
}

std::optional<Finding> find_lowered_power_limit(const ChosenGpu& gpu) {
    constexpr double rounding_watts = 0.5;  // a smaller difference counts as rounding
    const std::optional<double> limit_watts = gpu.state.reading.power_limit_watts;
    const std::optional<double> default_watts = gpu.state.limits.default_power_limit_watts;
    if (!limit_watts || !default_watts || *limit_watts >= *default_watts - rounding_watts) return std::nullopt;
    return Finding{.name = "GPU power",
                   .text = fmt::format("{}: the power limit is {:.0f} W, below the default of {:.0f} W",
                                       gpu.name, *limit_watts, *default_watts),
                   .advice = fmt::format("this limit makes the GPU slower; an administrator can raise it: "
                                         "nvidia-smi --power-limit={:.0f}",
                                         *default_watts)};
}

}  // namespace

std::vector<Finding> judge_gpu_states(const Facts& facts) {
    std::vector<ChosenGpu> gpus = list_chosen_gpus(facts.ranks);
    if (gpus.empty()) return {};
    std::vector<Finding> all{judge_driver(gpus)};
    std::erase_if(gpus, [](const ChosenGpu& gpu) { return !gpu.state.complaint.empty(); });
    if (gpus.empty()) return all;
    all.push_back({.name = "GPU state", .status = Status::ok, .text = describe(gpus)});
    add_first_finding(all, gpus, find_used_memory);
    add_first_finding(all, gpus, find_throttling);
    add_first_finding(all, gpus, find_lowered_power_limit);
    return all;
}

}  // namespace trireme::tools::doctor
