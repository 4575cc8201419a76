// Reads the sensors of a GPU periodically in a separate thread. NVML takes milliseconds to answer (2.4 ms on an
// H200, up to 14), during which the GPU would run out of work.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "trireme/device/gpu_meter.hpp"

namespace trireme::rank {

// Periods in seconds. NVML's energy counter advances every 20 to 100 ms. If `joules` is 0, there is no thread,
// and each call queries the driver.
struct SamplePeriods {
    double joules = 0.05;
    double state = 1;
};

class GpuSamples {
public:
    // `meter` must outlive this object.
    GpuSamples(const device::GpuMeter& meter, SamplePeriods periods);
    ~GpuSamples();
    GpuSamples(const GpuSamples&) = delete;
    GpuSamples& operator=(const GpuSamples&) = delete;

    // Return values that are about one period old at most; empty if the driver does not report them.
    std::optional<double> joules() const;
    device::GpuReading state() const;

private:
    void sample_until_the_end();

    const device::GpuMeter& meter_;
    SamplePeriods periods_;
    mutable std::mutex mutex_;
    std::condition_variable ends_changed_;
    bool ends_ = false;
    std::optional<double> joules_;
    device::GpuReading state_;
    std::thread sampler_;
};

}  // namespace trireme::rank
