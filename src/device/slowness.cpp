#include "trireme/device/slowness.hpp"

#include "trireme/device/clock.hpp"

namespace trireme {
namespace {

constexpr double least_sleep = 200e-6;  // seconds: four times what a sleep takes too long

}  // namespace

void Slowness::set(double factor) {
    if (factor != factor_) owed_ = 0;
    factor_ = factor;
}

double Slowness::prolong(double seconds) {
    owed_ += (factor_ - 1) * seconds;
    if (owed_ >= least_sleep || time_is_simulated()) settle();
    return factor_ * seconds;
}

void Slowness::settle() {
    if (owed_ <= 0) return;
    const double begin = now_seconds();
    spend_seconds(owed_);
    owed_ -= now_seconds() - begin;
}

}  // namespace trireme
