// Time and power of a real device, which runs in wall time. A simulation has its own implementation.

#include <chrono>
#include <thread>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/power.hpp"

namespace trireme::device {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool time_is_simulated() { return false; }

void spend_seconds(double seconds) { rest_seconds(seconds); }

void rest_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::vector<ClockState> clock_states() { return {}; }

std::size_t clock_state() { return 0; }

void set_clock_state(std::size_t state) {
    throw BugError(cat("clock ", state, " of a device that has none to set"));
}

std::optional<double> consumed_joules() { return std::nullopt; }

}  // namespace trireme::device
