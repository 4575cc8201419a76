// Linked by name into every simulated program, so that the linker does not look for the wall clock of `device`.
#include "trireme/device/clock.hpp"

#include <simgrid/engine.h>

namespace trireme {

// Unlike MPI_Wtime, it does not cost simulated time itself.
double now_seconds() { return simgrid_get_clock(); }

bool time_is_simulated() { return true; }

}  // namespace trireme
