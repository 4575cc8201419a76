// Readings of a GPU's driver, taken by a thread of its own: NVML takes milliseconds to answer (2.4 ms on an
// H200, up to 14), in which the GPU would run out of work.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "trireme/device/gpu_meter.hpp"

namespace trireme::rank {

// In seconds. NVML's counter of energy advances every 20 to 100 ms. 0: no thread is started, and each call here
// asks the driver.
struct SamplePeriods {
    double joules = 0.05;
    double state = 1;
};

class GpuSamples {
public:
    // `meter` outlives it.
    GpuSamples(const device::GpuMeter& meter, SamplePeriods periods);
    ~GpuSamples();
    GpuSamples(const GpuSamples&) = delete;
    GpuSamples& operator=(const GpuSamples&) = delete;

    // At most one period old. Empty if the driver does not report it.
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
