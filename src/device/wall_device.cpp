// Time and power of a real device, which runs in wall time. Simulated devices have another implementation:
// src/comm/mpi/simulated/device.cpp.

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

// A sleep has the same duration as work, and leaves the core to other ranks.
void busy_for(double seconds) { idle_for(seconds); }

void idle_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::vector<ClockState> list_clock_states() { return {}; }

std::size_t get_clock_state() { return 0; }

void set_clock_state(std::size_t state) {
    throw BugError(cat("clock state ", state, " does not exist; this device has no clock states"));
}

std::optional<double> read_energy_joules() { return std::nullopt; }

}  // namespace trireme::device
