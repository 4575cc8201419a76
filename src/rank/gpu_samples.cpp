#include "trireme/rank/gpu_samples.hpp"

#include <chrono>

#include "trireme/device/clock.hpp"

namespace trireme::rank {

GpuSamples::GpuSamples(const device::GpuMeter& meter, SamplePeriods periods)
    : meter_(meter), periods_(periods), joules_(meter.read_joules()), state_(meter.read()) {
    if (periods_.energy > 0) sampler_ = std::thread([this] { sample_until_destroyed(); });
}

GpuSamples::~GpuSamples() {
    if (!sampler_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    ending_changed_.notify_one();
    sampler_.join();
}

std::optional<double> GpuSamples::joules() const {
    if (periods_.energy == 0) return meter_.read_joules();
    const std::lock_guard lock(mutex_);
    return joules_;
}

device::GpuReading GpuSamples::state() const {
    if (periods_.energy == 0) return meter_.read();
    const std::lock_guard lock(mutex_);
    return state_;
}

void GpuSamples::sample_until_destroyed() {
    const std::chrono::duration<double> period(periods_.energy);
    double next_state_time = device::now_seconds() + periods_.state;
    std::unique_lock lock(mutex_);
    while (!ending_changed_.wait_for(lock, period, [this] { return is_ending_; })) {
        lock.unlock();
        const std::optional<double> joules = meter_.read_joules();
        std::optional<device::GpuReading> state;
        if (device::now_seconds() >= next_state_time) {
            state = meter_.read();
            next_state_time = device::now_seconds() + periods_.state;
        }
        lock.lock();
        joules_ = joules;
        if (state) state_ = *state;
    }
}

}  // namespace trireme::rank
