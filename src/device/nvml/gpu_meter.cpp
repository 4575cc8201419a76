#include "trireme/device/gpu_meter.hpp"

#include <algorithm>
#include <functional>

#include "device/nvml/library.hpp"
#include "trireme/base/error.hpp"

namespace trireme::device {

using nvml::ClockKind;
using nvml::Result;

namespace {

constexpr double milli = 1e-3;

nvml::Device device_of(void* handle) { return static_cast<nvml::Device>(handle); }

// Returns the value that `ask` writes, times `unit`; empty if NVML does not report it.
template <class Value, class Ask>
std::optional<double> told(const Ask& ask, double unit = 1) {
    Value value{};
    if (ask(&value) != Result::success) return std::nullopt;
    return static_cast<double>(value) * unit;
}

// Reads a list from an NVML function that, called with null, returns the number of elements.
template <class Ask>
std::vector<unsigned> list_of(const Ask& ask) {
    unsigned count = 0;
    const Result result = ask(&count, nullptr);
    if ((result != Result::success && result != Result::insufficient_size) || count == 0) return {};
    std::vector<unsigned> list(count);
    if (ask(&count, list.data()) != Result::success) return {};
    list.resize(std::min<std::size_t>(count, list.size()));
    return list;
}

// Returns "are 1200 and 1215 MHz", or "is 1980 MHz" if all clocks lie on one side of `mhz`.
std::string nearest_of(int mhz, const std::vector<int>& clocks) {
    const auto below = std::ranges::find_if(clocks, [&](int clock) { return clock < mhz; });
    if (below == clocks.begin()) return cat("is ", clocks.front(), " MHz");
    if (below == clocks.end()) return cat("is ", clocks.back(), " MHz");
    return cat("are ", *below, " and ", *std::prev(below), " MHz");
}

}  // namespace

GpuMeter::GpuMeter(const std::string& bus_id, const std::string& library)
    : bus_id_(bus_id), library_(std::make_unique<nvml::Library>(library)) {
    nvml::Device device = nullptr;
    const Result result = library_->device_at(bus_id.c_str(), &device);
    device_ = device;
    if (result != Result::success)
        throw ResourceError(cat(library, " finds no GPU at ", bus_id, ": ", library_->words_of(result),
                                "; see whether nvidia-smi shows it"));
}

GpuMeter::~GpuMeter() = default;
GpuMeter::GpuMeter(GpuMeter&& other) noexcept = default;
GpuMeter& GpuMeter::operator=(GpuMeter&& other) noexcept = default;

std::string GpuMeter::driver() const { return library_->driver(); }

std::optional<double> GpuMeter::joules() const {
    return told<unsigned long long>([&](auto* value) { return library_->energy(device_of(device_), value); },
                                    milli);
}

GpuReading GpuMeter::read() const {
    const auto clock_of = [&](ClockKind kind) {
        return told<unsigned>([&](auto* value) { return library_->clock(device_of(device_), kind, value); });
    };
    GpuReading reading{
        .joules = joules(),
        .watts = told<unsigned>([&](auto* value) { return library_->power(device_of(device_), value); }, milli),
        .clock_mhz = clock_of(ClockKind::multiprocessors),
        .memory_clock_mhz = clock_of(ClockKind::memory),
        .celsius = told<unsigned>(
            [&](auto* value) { return library_->temperature(device_of(device_), nvml::Sensor::gpu, value); }),
        .power_limit_watts = told<unsigned>(
            [&](auto* value) { return library_->power_limit(device_of(device_), value); }, milli)};
    nvml::Memory memory{};
    if (library_->memory(device_of(device_), &memory) == Result::success) {
        reading.used_bytes = static_cast<double>(memory.used);
        reading.total_bytes = static_cast<double>(memory.total);
    }
    return reading;
}

GpuLimits GpuMeter::limits() const {
    return {.default_power_limit_watts = told<unsigned>(
                [&](auto* value) { return library_->default_power_limit(device_of(device_), value); }, milli),
            .highest_clock_mhz = told<unsigned>([&](auto* value) {
                return library_->highest_clock(device_of(device_), ClockKind::multiprocessors, value);
            })};
}

// Lists the clocks for the highest memory clock, which is the one in use while a GPU computes.
std::vector<int> GpuMeter::clocks() const {
    const std::vector<unsigned> memory = list_of([&](unsigned* count, unsigned* mhz) {
        return library_->memory_clocks(device_of(device_), count, mhz);
    });
    if (memory.empty()) return {};
    const unsigned highest = std::ranges::max(memory);
    const std::vector<unsigned> found = list_of([&](unsigned* count, unsigned* mhz) {
        return library_->clocks(device_of(device_), highest, count, mhz);
    });
    std::vector<int> clocks(found.begin(), found.end());
    std::ranges::sort(clocks, std::greater<>());
    return clocks;
}

// If the clocks are unknown, setting the clock fails later if the GPU does not support it.
void GpuMeter::check_clock(int mhz) const {
    const std::vector<int> known = clocks();
    if (known.empty() || std::ranges::find(known, mhz) != known.end()) return;
    throw ConfigError(cat("the GPU at ", bus_id_, " does not support --gpu-clock ", mhz,
                          ": the nearest of its ", known.size(), " clocks, ", known.back(), " to ",
                          known.front(), " MHz, ", nearest_of(mhz, known)));
}

void GpuMeter::hold_clock(int mhz) const {
    check_clock(mhz);
    const auto clock = static_cast<unsigned>(mhz);
    const Result result = library_->lock_clock(device_of(device_), clock, clock);
    const std::string wish = cat("--gpu-clock ", mhz);
    switch (result) {
        case Result::success:
            return;
        case Result::no_permission:
            throw ConfigError(cat(wish, ": this user may not set the clock of the GPU at ", bus_id_,
                                  "; an administrator may (nvidia-smi --lock-gpu-clocks=", mhz,
                                  "), and so may Slurm where it is set up for that (srun --gpu-freq=", mhz,
                                  "); without --gpu-clock the run leaves clocks as they are"));
        case Result::not_supported:
        case Result::invalid_argument:
            throw ConfigError(cat("the GPU at ", bus_id_, " does not support ", wish, ": ",
                                  library_->words_of(result),
                                  "; without --gpu-clock the run leaves clocks as they are"));
        case Result::not_found:
        case Result::insufficient_size:
        case Result::gpu_is_lost:
            break;
    }
    throw ResourceError(cat(wish, ": the GPU at ", bus_id_, " does not answer: ", library_->words_of(result),
                            "; see whether nvidia-smi shows it, and start elsewhere meanwhile"));
}

bool GpuMeter::give_clock_back() const noexcept {
    return library_->give_clock_back(device_of(device_)) == Result::success;
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
