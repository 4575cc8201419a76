// Time on a real device, which runs in wall time. Simulated devices have another implementation:
// src/comm/mpi/simulated/device.cpp.

#include <chrono>
#include <thread>

#include "trireme/device/clock.hpp"
#include "trireme/device/clocked_device.hpp"

namespace trireme::device {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool time_is_simulated() { return false; }

// A sleep has the same duration as work, and leaves the core to other ranks.
void busy_for(double seconds) { idle_for(seconds); }

void idle_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::shared_ptr<ClockedDevice> make_simulated_device() { return nullptr; }

}  // namespace trireme::device
