#include "trireme/device/emulated_slowness.hpp"

#include "trireme/device/clock.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::device {
namespace {

constexpr double min_sleep = 200e-6;  // seconds; four times the overshoot of a sleep

}  // namespace

void Slowness::set(const SlowFactors& factors) {
    if (factors != factors_) owed_seconds_ = 0;
    factors_ = factors;
}

double Slowness::prolong(const Cost& cost, double seconds) {
    const double factor = factors_.all * (cost.is_weight_matmul() ? factors_.matmuls : 1);
    owed_seconds_ += (factor - 1) * seconds;
    if (owed_seconds_ >= min_sleep || time_is_simulated()) spend_owed_time();
    return factor * seconds;
}

void Slowness::spend_owed_time() {
    if (owed_seconds_ <= 0) return;
    const double begin = now_seconds();
    busy_for(owed_seconds_);
    owed_seconds_ -= now_seconds() - begin;
}

}  // namespace trireme::device
