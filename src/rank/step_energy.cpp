#include "trireme/rank/step_energy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace trireme::rank {

records::EnergyPhases derive_energy_phases(double joules, double waiting_watts, const StepPhases& phases) {
    // A rank may wait for a message while its GPU still executes kernels.
    const double seconds_without_kernels = std::max(0.0, phases.seconds - phases.kernel_seconds);
    const double blocked_seconds = std::min(phases.wait_seconds, seconds_without_kernels);
    const double idle_seconds = seconds_without_kernels - blocked_seconds;
    const double waiting_joules = waiting_watts * seconds_without_kernels;
    // The counter of a GPU advances in steps, so that a short training step may seem to use too little energy.
    const double scale = waiting_joules > joules ? joules / waiting_joules : 1;
    const double blocked = scale * waiting_watts * blocked_seconds;
    const double idle = scale * waiting_watts * idle_seconds;
    return {.compute = joules - blocked - idle, .blocked = blocked, .idle = idle};
}

double StepEnergy::read_joules() const {
    const std::optional<double> joules = device_ == nullptr ? std::nullopt : device_->read_joules();
    return joules.value_or(std::numeric_limits<double>::quiet_NaN());
}

void StepEnergy::begin() { last_reading_ = read_joules(); }

records::EnergyPhases StepEnergy::take(const StepPhases& phases) {
    const double now = read_joules();
    const double joules = now - std::exchange(last_reading_, now);
    const double rest = std::exchange(rest_, 0);
    if (std::isnan(joules)) return {joules, joules, joules};
    records::EnergyPhases energy{.compute = phases.kernel_joules,
                                 .blocked = phases.wait_joules,
                                 .idle = std::max(0.0, joules - phases.kernel_joules - phases.wait_joules)};
    if (waiting_watts_) energy = derive_energy_phases(joules, *waiting_watts_, phases);
    energy.blocked += rest;
    return energy;
}

void StepEnergy::end() {
    const double now = read_joules();
    rest_ += now - std::exchange(last_reading_, now);
}

double StepEnergy::take_rest() {
    end();
    return std::exchange(rest_, 0);
}

}  // namespace trireme::rank
