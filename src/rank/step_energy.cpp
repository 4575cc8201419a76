#include "trireme/rank/step_energy.hpp"

#include <limits>
#include <utility>

#include "trireme/device/power.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {

double StepEnergy::meter() const {
    const std::optional<double> joules = gpu_ == nullptr ? device::consumed_joules() : gpu_->joules();
    return joules.value_or(std::numeric_limits<double>::quiet_NaN());
}

void StepEnergy::begin() { since_ = meter(); }

void StepEnergy::look() {
    const double now = meter();
    before_ += now - std::exchange(since_, now);
}

double StepEnergy::take() {
    look();
    return std::exchange(before_, 0);
}

void say_state_of(RankGpu* gpu, std::span<double> own) {
    const device::GpuReading state = gpu == nullptr ? device::GpuReading{} : gpu->state();
    constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
    own[records::RecordFields::watts] = state.watts.value_or(nothing);
    own[records::RecordFields::clock_mhz] = state.clock_mhz.value_or(nothing);
    own[records::RecordFields::memory_clock_mhz] = state.memory_clock_mhz.value_or(nothing);
    own[records::RecordFields::celsius] = state.celsius.value_or(nothing);
    own[records::RecordFields::used_bytes] = state.used_bytes.value_or(nothing);
}

}  // namespace trireme::rank
