#include "trireme/rank/gpu_samples.hpp"

#include <chrono>

#include "trireme/device/clock.hpp"

namespace trireme::rank {

GpuSamples::GpuSamples(const device::GpuMeter& meter, SamplePeriods periods)
    : meter_(meter), periods_(periods), joules_(meter.joules()), state_(meter.read()) {
    if (periods_.joules > 0) sampler_ = std::thread([this] { sample_until_the_end(); });
}

GpuSamples::~GpuSamples() {
    if (!sampler_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    ends_changed_.notify_one();
    sampler_.join();
}

std::optional<double> GpuSamples::joules() const {
    if (periods_.joules == 0) return meter_.joules();
    const std::lock_guard lock(mutex_);
    return joules_;
}

device::GpuReading GpuSamples::state() const {
    if (periods_.joules == 0) return meter_.read();
    const std::lock_guard lock(mutex_);
    return state_;
}

void GpuSamples::sample_until_the_end() {
    const std::chrono::duration<double> period(periods_.joules);
    double state_until = device::now_seconds() + periods_.state;
    std::unique_lock lock(mutex_);
    while (!ends_changed_.wait_for(lock, period, [this] { return ends_; })) {
        lock.unlock();
        const std::optional<double> joules = meter_.joules();
        std::optional<device::GpuReading> state;
        if (device::now_seconds() >= state_until) {
            state = meter_.read();
            state_until = device::now_seconds() + periods_.state;
        }
        lock.lock();
        joules_ = joules;
        if (state) state_ = *state;
    }
}

}  // namespace trireme::rank
