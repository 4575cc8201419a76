#include "trireme/device/slowness.hpp"

#include "trireme/device/clock.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::device {
namespace {

constexpr double least_sleep = 200e-6;  // seconds; four times the overshoot of a sleep

}  // namespace

void Slowness::set(const SlowFactors& factors) {
    if (factors != factors_) owed_ = 0;
    factors_ = factors;
}

double Slowness::prolong(const Cost& cost, double seconds) {
    const double factor = factors_.all * (cost.is_product() ? factors_.products : 1);
    owed_ += (factor - 1) * seconds;
    if (owed_ >= least_sleep || time_is_simulated()) settle();
    return factor * seconds;
}

void Slowness::settle() {
    if (owed_ <= 0) return;
    const double begin = now_seconds();
    spend_seconds(owed_);
    owed_ -= now_seconds() - begin;
}

}  // namespace trireme::device
