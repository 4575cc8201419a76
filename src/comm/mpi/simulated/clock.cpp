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

// At a low clock it is fewer flops that take them.
void spend_seconds(double seconds) { smpi_execute_flops(seconds * sg_host_get_speed(sg_host_self())); }

void rest_seconds(double seconds) { sg_actor_sleep_for(seconds); }

}  // namespace trireme
