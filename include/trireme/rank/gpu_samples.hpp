// Reads the sensors of a GPU periodically in a separate thread. A call of NVML takes milliseconds, for example
// 2.4 ms on an H200, and sometimes up to 14 ms. If the thread that launches kernels called NVML, the GPU would
// run out of work.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "trireme/device/gpu_meter.hpp"

namespace trireme::rank {

// Seconds between two readings. NVML's energy counter advances every 20 to 100 ms. If `energy` is 0, there is
// no thread, and each call of joules() or state() queries the driver.
struct SamplePeriods {
    double energy = 0.05;  // period of energy readings
    double state = 1;      // period of power, clocks, temperature and memory readings
};

class GpuSamples {
public:
    // `meter` must outlive this object.
    GpuSamples(const device::GpuMeter& meter, SamplePeriods periods);
    ~GpuSamples();
    GpuSamples(const GpuSamples&) = delete;
    GpuSamples& operator=(const GpuSamples&) = delete;

    // Return the last readings, which are at most about one period old. Values that the driver does not report
    // are empty. joules() counts from the moment at which the driver was loaded.
    std::optional<double> joules() const;
    device::GpuReading state() const;

private:
    void sample_until_destroyed();

    const device::GpuMeter& meter_;
    SamplePeriods periods_;
    mutable std::mutex mutex_;  // guards is_ending_, joules_ and state_
    std::condition_variable ending_changed_;
    bool is_ending_ = false;
    std::optional<double> joules_;
    device::GpuReading state_;
    std::thread sampler_;
};

}  // namespace trireme::rank
