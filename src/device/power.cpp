#include "trireme/device/power.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

std::vector<ClockState> clock_states() { return {}; }

std::size_t clock_state() { return 0; }

void set_clock_state(std::size_t state) {
    throw BugError(cat("clock ", state, " of a device that has none to set"));
}

std::optional<double> consumed_joules() { return std::nullopt; }

}  // namespace trireme
