#include "trireme/device/clock.hpp"

#include <chrono>
#include <thread>

namespace trireme {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool time_is_simulated() { return false; }

void spend_seconds(double seconds) { rest_seconds(seconds); }

void rest_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace trireme
