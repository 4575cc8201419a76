// Linked by name into every simulated program, so that the linker does not look for the wall clock of `device`.
#include "trireme/device/clock.hpp"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>

namespace trireme {

// Unlike MPI_Wtime, it does not cost simulated time itself.
double now_seconds() { return simgrid_get_clock(); }

bool time_is_simulated() { return true; }

void spend_seconds(double seconds) {
    constexpr int highest_clock = 0;
    smpi_execute_flops(seconds * sg_host_get_pstate_speed(sg_host_self(), highest_clock));
}

void rest_seconds(double seconds) { sg_actor_sleep_for(seconds); }

}  // namespace trireme
