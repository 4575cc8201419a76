// Time and power of a simulated device. This file is linked explicitly into every simulated program, so that
// the linker does not use src/device/wall_device.cpp.

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

// Returns the clocks of this host in MHz, for example "1530,1440"; null if the cluster file lists no clocks.
// SimGrid measures the energy only of hosts with clocks.
const char* get_clock_list() { return sg_host_get_property_value(sg_host_self(), "mhz"); }

}  // namespace

// Unlike MPI_Wtime(), simgrid_get_clock() takes no simulated time.
double now_seconds() { return simgrid_get_clock(); }

bool time_is_simulated() { return true; }

// Executes the flops that take `seconds` in the current clock state, to which sg_host_get_speed() refers.
void busy_for(double seconds) { smpi_execute_flops(seconds * sg_host_get_speed(sg_host_self())); }

void idle_for(double seconds) { sg_actor_sleep_for(seconds); }

std::vector<ClockState> list_clock_states() {
    const char* const clock_list = get_clock_list();
    if (clock_list == nullptr) return {};
    const sg_host_t host = sg_host_self();
    std::vector<ClockState> states;
    std::istringstream text(clock_list);
    for (std::string mhz; std::getline(text, mhz, ',');) {
        const double speed = sg_host_get_pstate_speed(host, states.size()) / sg_host_get_pstate_speed(host, 0);
        states.push_back({.mhz = std::stod(mhz), .speed = speed});
    }
    return states;
}

std::size_t get_clock_state() { return sg_host_get_pstate(sg_host_self()); }

void set_clock_state(std::size_t state) {
    const std::size_t states = sg_host_get_nb_pstates(sg_host_self());
    if (state >= states)
        throw BugError(
            cat("clock state ", state, " does not exist; the last state of this device is ", states - 1));
    sg_host_set_pstate(sg_host_self(), state);
}

std::optional<double> read_energy_joules() {
    if (get_clock_list() == nullptr) return std::nullopt;
    return sg_host_get_consumed_energy(sg_host_self());
}

}  // namespace trireme::device
