#include "trireme/device/clock_gate.hpp"

#include <algorithm>
#include <atomic>

#include "trireme/device/clock.hpp"

namespace trireme::device {
namespace {

// The default order of std::atomic_ref, sequential consistency, is needed: either a rank that enters sees the
// closed gate, or the rank that closes the gate sees the other one inside.
std::atomic_ref<int> access_slot(int& slot) { return std::atomic_ref<int>(slot); }

}  // namespace

bool ClockGate::enter() noexcept {
    access_slot(slots_[1 + own_]) = 1;
    if (access_slot(slots_[0]) == 0) return true;
    leave();
    return false;
}

void ClockGate::leave() noexcept { access_slot(slots_[1 + own_]) = 0; }

void ClockGate::close() noexcept {
    constexpr double max_seconds = 0.2;  // a driver takes some milliseconds
    access_slot(slots_[0]) = 1;
    const double begin = now_seconds();
    const auto is_inside = [](int& slot) { return access_slot(slot) != 0; };
    while (std::ranges::any_of(slots_.subspan(1), is_inside) && now_seconds() - begin < max_seconds)
        idle_for(1e-4);
}

}  // namespace trireme::device
