// Reads a GPU's sensors and sets its clock through NVIDIA's management library (NVML). The library is loaded on
// first use, so that a program starts without it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/device/clocked_device.hpp"

namespace trireme::device {

// The sensors of a GPU. A value that NVML does not report is empty, never 0.
struct GpuReading {
    std::optional<double> joules = {};     // used by the GPU since its driver was loaded
    std::optional<double> watts = {};      // averaged by the GPU over about the last second
    std::optional<double> clock_mhz = {};  // of its multiprocessors
    std::optional<double> memory_clock_mhz = {};
    std::optional<double> celsius = {};
    std::optional<double> used_bytes = {};  // by all processes and the driver
    std::optional<double> total_bytes = {};
    std::optional<double> power_limit_watts = {};  // the enforced limit

    friend bool operator==(const GpuReading&, const GpuReading&) = default;
};

// Properties of a GPU that stay constant during a run.
struct GpuLimits {
    std::optional<double> default_power_limit_watts = {};
    std::optional<double> highest_clock_mhz = {};

    friend bool operator==(const GpuLimits&, const GpuLimits&) = default;
};

namespace nvml {
class Library;
}

class GpuMeter final : public ClockedDevice {
public:
    static constexpr const char* standard_library = "libnvidia-ml.so.1";

    // `bus_id` is the PCI bus id of the physical GPU, for example "0000:17:00.0", even if the process uses a
    // MIG slice of the GPU. Throws ResourceError if the library is missing, does not start, or knows no such
    // GPU.
    explicit GpuMeter(const std::string& bus_id, const std::string& library = standard_library);
    ~GpuMeter() override;
    GpuMeter(GpuMeter&& other) noexcept;
    GpuMeter& operator=(GpuMeter&& other) noexcept;

    const std::string& bus_id() const { return bus_id_; }
    std::string find_driver_version() const;  // for example "550.54.15"; empty if unknown

    GpuReading read() const;
    std::optional<double> read_joules() const override;  // the `joules` of read() alone
    GpuLimits read_limits() const;

    // Lists the clocks to which the multiprocessors can be locked. Their speeds are in proportion to the
    // clocks.
    std::vector<ClockState> list_clocks() const override;
    // Throws ConfigError if list_clocks() is not empty and lacks `mhz`.
    void check_clock(int mhz) const;
    void set_clock(int mhz) override;
    bool restore_clock() noexcept override;

private:
    std::string bus_id_;
    std::unique_ptr<nvml::Library> library_;
    void* device_ = nullptr;  // nvmlDevice_t
};

// A meter, or the reason why there is none.
struct GpuMeterSearch {
    std::optional<GpuMeter> meter = {};
    std::string complaint = {};  // empty if there is a meter
};
GpuMeterSearch find_gpu_meter(const std::string& bus_id,
                              const std::string& library = GpuMeter::standard_library);

}  // namespace trireme::device
