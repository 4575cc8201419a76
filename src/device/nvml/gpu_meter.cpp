#include "trireme/device/gpu_meter.hpp"

#include <algorithm>
#include <functional>

#include "device/nvml/library.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::device {

using nvml::ClockKind;
using nvml::Result;

namespace {

constexpr double milli = 1e-3;

nvml::Device nvml_device(void* handle) { return static_cast<nvml::Device>(handle); }

// Returns the value that query(&value) writes, times `scale`; empty if NVML does not report it.
template <class Value, class Query>
std::optional<double> read_value(const Query& query, double scale = 1) {
    Value value{};
    if (query(&value) != Result::success) return std::nullopt;
    return static_cast<double>(value) * scale;
}

// Reads a list with query(&count, list), an NVML function. If the list is null, the function writes only the
// number of elements.
template <class Query>
std::vector<unsigned> read_list(const Query& query) {
    unsigned count = 0;
    const Result result = query(&count, nullptr);
    if ((result != Result::success && result != Result::insufficient_size) || count == 0) return {};
    std::vector<unsigned> list(count);
    if (query(&count, list.data()) != Result::success) return {};
    list.resize(std::min<std::size_t>(count, list.size()));
    return list;
}

// Describes the clocks nearest to `mhz`, for example "are 1200 and 1215 MHz", or "is 1980 MHz" if all clocks
// lie on one side of `mhz`. `clocks` has the highest clock first.
std::string describe_nearest(int mhz, const std::vector<ClockState>& clocks) {
    const auto lower_clock =
        std::ranges::find_if(clocks, [&](const ClockState& clock) { return clock.mhz < mhz; });
    if (lower_clock == clocks.begin()) return cat("is ", clocks.front().mhz, " MHz");
    if (lower_clock == clocks.end()) return cat("is ", clocks.back().mhz, " MHz");
    return cat("are ", lower_clock->mhz, " and ", std::prev(lower_clock)->mhz, " MHz");
}

}  // namespace

GpuMeter::GpuMeter(const std::string& bus_id, const std::string& library)
    : bus_id_(bus_id), library_(std::make_unique<nvml::Library>(library)) {
    nvml::Device device = nullptr;
    const Result result = library_->device_at(bus_id.c_str(), &device);
    device_ = device;
    if (result != Result::success)
        throw ResourceError(cat(library, " finds no GPU at ", bus_id, ": ", library_->describe(result),
                                "; check whether nvidia-smi shows the GPU"));
}

GpuMeter::~GpuMeter() = default;
GpuMeter::GpuMeter(GpuMeter&& other) noexcept = default;
GpuMeter& GpuMeter::operator=(GpuMeter&& other) noexcept = default;

std::string GpuMeter::find_driver_version() const { return library_->find_driver_version(); }

std::optional<double> GpuMeter::read_joules() const {
    return read_value<unsigned long long>(
        [&](auto* value) { return library_->energy(nvml_device(device_), value); }, milli);
}

GpuReading GpuMeter::read() const {
    const auto read_clock_mhz = [&](ClockKind kind) {
        return read_value<unsigned>(
            [&](auto* value) { return library_->clock(nvml_device(device_), kind, value); });
    };
    GpuReading reading{
        .joules = read_joules(),
        .watts = read_value<unsigned>([&](auto* value) { return library_->power(nvml_device(device_), value); },
                                      milli),
        .clock_mhz = read_clock_mhz(ClockKind::multiprocessors),
        .memory_clock_mhz = read_clock_mhz(ClockKind::memory),
        .celsius = read_value<unsigned>(
            [&](auto* value) { return library_->temperature(nvml_device(device_), nvml::Sensor::gpu, value); }),
        .power_limit_watts = read_value<unsigned>(
            [&](auto* value) { return library_->power_limit(nvml_device(device_), value); }, milli)};
    nvml::Memory memory{};
    if (library_->memory(nvml_device(device_), &memory) == Result::success) {
        reading.used_bytes = static_cast<double>(memory.used);
        reading.total_bytes = static_cast<double>(memory.total);
    }
    return reading;
}

GpuLimits GpuMeter::read_limits() const {
    return {.default_power_limit_watts = read_value<unsigned>(
                [&](auto* value) { return library_->default_power_limit(nvml_device(device_), value); }, milli),
            .highest_clock_mhz = read_value<unsigned>([&](auto* value) {
                return library_->highest_clock(nvml_device(device_), ClockKind::multiprocessors, value);
            })};
}

// Lists the clocks that are possible at the highest memory clock, which a GPU uses while it computes.
std::vector<ClockState> GpuMeter::list_clocks() const {
    const std::vector<unsigned> memory = read_list([&](unsigned* count, unsigned* mhz) {
        return library_->memory_clocks(nvml_device(device_), count, mhz);
    });
    if (memory.empty()) return {};
    const unsigned highest = std::ranges::max(memory);
    const std::vector<unsigned> listed_clocks = read_list([&](unsigned* count, unsigned* mhz) {
        return library_->clocks(nvml_device(device_), highest, count, mhz);
    });
    std::vector<ClockState> clocks;
    for (const unsigned mhz : listed_clocks) clocks.push_back({.mhz = static_cast<double>(mhz)});
    std::ranges::sort(clocks, std::greater<>(), &ClockState::mhz);
    for (ClockState& clock : clocks) clock.speed = clock.mhz / clocks.front().mhz;
    return clocks;
}

// If the clocks are unknown, `mhz` passes this check; set_clock() then fails if the GPU does not support `mhz`.
void GpuMeter::check_clock(int mhz) const {
    const std::vector<ClockState> clocks = list_clocks();
    const bool is_listed = std::ranges::find(clocks, mhz, &ClockState::mhz) != clocks.end();
    if (clocks.empty() || is_listed) return;
    throw ConfigError(cat("the GPU at ", bus_id_, " does not support a clock of ", mhz, " MHz; of its ",
                          format_count(clocks.size(), "clock"), " from ", clocks.back().mhz, " to ",
                          clocks.front().mhz, " MHz, the nearest ", describe_nearest(mhz, clocks)));
}

void GpuMeter::set_clock(int mhz) {
    const auto clock = static_cast<unsigned>(mhz);
    const Result result = library_->lock_clock(nvml_device(device_), clock, clock);
    switch (result) {
        case Result::success:
            return;
        case Result::no_permission:
            throw ConfigError(cat(
                "this user may not set the clock of the GPU at ", bus_id_,
                ", because NVML demands root or CAP_SYS_ADMIN; ask an administrator for this capability, "
                "or for a fixed clock (nvidia-smi --lock-gpu-clocks=",
                mhz, "), or use srun --gpu-freq=", mhz,
                " if the cluster allows it; a run changes no clocks without --gpu-clock, --energy, CLOCK cells "
                "and decisions with \"clocks\""));
        case Result::not_supported:
        case Result::invalid_argument:
            throw ConfigError(
                cat("the GPU at ", bus_id_, " does not support a clock of ", mhz,
                    " MHz: ", library_->describe(result),
                    "; a run changes no clocks without --gpu-clock, --energy, CLOCK cells and decisions with "
                    "\"clocks\""));
        case Result::not_found:
        case Result::insufficient_size:
        case Result::gpu_is_lost:
            break;
    }
    throw ResourceError(cat("the GPU at ", bus_id_, " does not answer: ", library_->describe(result),
                            "; check whether nvidia-smi shows the GPU, and use another node meanwhile"));
}

bool GpuMeter::restore_clock() noexcept {
    return library_->unlock_clock(nvml_device(device_)) == Result::success;
}

GpuMeterSearch find_gpu_meter(const std::string& bus_id, const std::string& library) {
    GpuMeterSearch search;
    try {
        search.meter.emplace(bus_id, library);
    } catch (const ResourceError& error) {
        search.complaint = error.what();
    }
    return search;
}

}  // namespace trireme::device
