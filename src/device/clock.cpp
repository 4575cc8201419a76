#include "trireme/device/clock.hpp"

#include <chrono>

namespace trireme {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool time_is_simulated() { return false; }

}  // namespace trireme
