#include "trireme/rank/step_energy.hpp"

#include <limits>
#include <utility>

#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {

double StepEnergy::read_joules() const {
    const std::optional<double> joules = device_ == nullptr ? std::nullopt : device_->read_joules();
    return joules.value_or(std::numeric_limits<double>::quiet_NaN());
}

void StepEnergy::begin() { last_reading_ = read_joules(); }

void StepEnergy::add_reading() {
    const double now = read_joules();
    joules_ += now - std::exchange(last_reading_, now);
}

double StepEnergy::take() {
    add_reading();
    return std::exchange(joules_, 0);
}

void record_gpu_state(RankGpu* gpu, std::span<double> record) {
    const device::GpuReading state = gpu == nullptr ? device::GpuReading{} : gpu->state();
    constexpr double not_reported = std::numeric_limits<double>::quiet_NaN();
    record[records::RecordFields::watts] = state.watts.value_or(not_reported);
    record[records::RecordFields::clock_mhz] = state.clock_mhz.value_or(not_reported);
    record[records::RecordFields::memory_clock_mhz] = state.memory_clock_mhz.value_or(not_reported);
    record[records::RecordFields::celsius] = state.celsius.value_or(not_reported);
    record[records::RecordFields::used_bytes] = state.used_bytes.value_or(not_reported);
}

}  // namespace trireme::rank
