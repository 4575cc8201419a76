// What NVIDIA's management library (NVML) tells of a GPU, and the clock that it can be held at. The library is
// looked for when something needs it: a program starts without it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trireme::device {

// What is not told is none, never 0.
struct GpuReading {
    std::optional<double> joules = {};     // since its driver was loaded
    std::optional<double> watts = {};      // as it measures them: of about the last second
    std::optional<double> clock_mhz = {};  // of its multiprocessors
    std::optional<double> memory_clock_mhz = {};
    std::optional<double> celsius = {};
    std::optional<double> used_bytes = {};  // by all processes, and by the driver
    std::optional<double> total_bytes = {};
    std::optional<double> power_limit_watts = {};  // that it keeps to

    friend bool operator==(const GpuReading&, const GpuReading&) = default;
};

// What does not change by itself.
struct GpuLimits {
    std::optional<double> default_power_limit_watts = {};
    std::optional<double> highest_clock_mhz = {};

    friend bool operator==(const GpuLimits&, const GpuLimits&) = default;
};

namespace nvml {
class Library;
}

class GpuMeter {
public:
    static constexpr const char* standard_library = "libnvidia-ml.so.1";

    // Of the GPU at that place of its machine, "0000:17:00.0", be it whole or the one that a slice is of.
    // Throws ResourceError where the library is missing, does not start, or knows no such GPU.
    explicit GpuMeter(const std::string& bus_id, const std::string& library = standard_library);
    ~GpuMeter();
    GpuMeter(GpuMeter&& other) noexcept;
    GpuMeter& operator=(GpuMeter&& other) noexcept;

    const std::string& bus_id() const { return bus_id_; }
    std::string driver() const;  // "550.54.15"; empty: it does not tell

    GpuReading read() const;
    std::optional<double> joules() const;  // those of read()
    GpuLimits limits() const;

    // MHz that its multiprocessors can be held at, the highest first; empty: it does not tell.
    std::vector<int> clocks() const;

    // Throws ConfigError where clocks() does not have it.
    void check_clock(int mhz) const;

    // Holds it at that clock until somebody gives it back, this process or another one: nothing else ends it,
    // and what an administrator had it at before is not known. Throws ConfigError where it is none of clocks(),
    // or this process may not, and ResourceError where the GPU fails.
    void hold_clock(int mhz) const;

    // From any thread, at any time, also where nothing was held. False: it is not back.
    bool give_clock_back() const noexcept;

private:
    std::string bus_id_;
    std::unique_ptr<nvml::Library> library_;
    void* device_ = nullptr;  // the library's own handle
};

// A meter, or why there is none.
struct GpuMeterSearch {
    std::optional<GpuMeter> meter = {};
    std::string complaint = {};
};
GpuMeterSearch find_gpu_meter(const std::string& bus_id,
                              const std::string& library = GpuMeter::standard_library);

}  // namespace trireme::device
