#include "trireme/rank/step_energy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace trireme::rank {

records::EnergyPhases derive_energy_phases(double joules, double waiting_watts, const StepPhases& phases) {
    const double idle_seconds = std::max(0.0, phases.seconds - phases.kernel_seconds - phases.wait_seconds);
    const double waiting_joules = waiting_watts * (phases.wait_seconds + idle_seconds);
    // The counter of a GPU advances in steps, so that a short training step may seem to use too little energy.
    const double scale = waiting_joules > joules ? joules / waiting_joules : 1;
    const double blocked = scale * waiting_watts * phases.wait_seconds;
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
    if (waiting_watts_) return derive_energy_phases(joules + rest, *waiting_watts_, phases);
    return {.compute = phases.kernel_joules,
            .blocked = phases.wait_joules + rest,
            .idle = std::max(0.0, joules - phases.kernel_joules - phases.wait_joules)};
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
