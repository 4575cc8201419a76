// Time and power of a simulated device. It is linked explicitly into every simulated program, so that the
// linker does not take the implementation in src/device.

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/plugins/energy.h>
#include <smpi/smpi.h>

#include <sstream>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/power.hpp"

namespace trireme::device {
namespace {

// Returns the clocks of this host, "1530,1440"; null if the cluster file describes none. SimGrid meters the
// energy of hosts that have them.
const char* mhz_of_states() { return sg_host_get_property_value(sg_host_self(), "mhz"); }

}  // namespace

// Unlike MPI_Wtime, simgrid_get_clock() costs no simulated time itself.
double now_seconds() { return simgrid_get_clock(); }

bool time_is_simulated() { return true; }

// The host speed follows the clock state, so a lower clock executes fewer flops in the same time.
void spend_seconds(double seconds) { smpi_execute_flops(seconds * sg_host_get_speed(sg_host_self())); }

void rest_seconds(double seconds) { sg_actor_sleep_for(seconds); }

std::vector<ClockState> clock_states() {
    const char* const list = mhz_of_states();
    if (list == nullptr) return {};
    const sg_host_t host = sg_host_self();
    std::vector<ClockState> states;
    std::istringstream text(list);
    for (std::string mhz; std::getline(text, mhz, ',');) {
        const double speed = sg_host_get_pstate_speed(host, states.size()) / sg_host_get_pstate_speed(host, 0);
        states.push_back({.mhz = std::stod(mhz), .speed = speed});
    }
    return states;
}

std::size_t clock_state() { return sg_host_get_pstate(sg_host_self()); }

void set_clock_state(std::size_t state) {
    const std::size_t states = sg_host_get_nb_pstates(sg_host_self());
    if (state >= states) throw BugError(cat("clock ", state, " of a device that has ", states));
    sg_host_set_pstate(sg_host_self(), state);
}

std::optional<double> consumed_joules() {
    if (mhz_of_states() == nullptr) return std::nullopt;
    return sg_host_get_consumed_energy(sg_host_self());
}

}  // namespace trireme::device
