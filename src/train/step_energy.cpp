#include "train/step_energy.hpp"

#include <limits>
#include <utility>

#include "trireme/device/power.hpp"

namespace trireme {

double StepEnergy::meter() const {
    const std::optional<double> joules = gpu_ == nullptr ? consumed_joules() : gpu_->joules();
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

}  // namespace trireme
