// Waiting for ranks before a blocking call of MPI that needs all of them.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "trireme/device/wait.hpp"

namespace trireme {

// Collective over `ranks` of `parent`, which have the same order on every rank and include this one. Returns
// once all of them have called it, so that the call that creates a communicator, which has no time limit, finds
// every rank there. The first of `ranks` waits as long as `patience` says, and names the ranks that are
// missing; the others wait twice as long for it. `name` is the communicator's, for messages. Does nothing in a
// simulation, which finds a deadlock by itself.
void check_in(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name, Patience patience);

// The same for all ranks of `parent`.
void check_in_all(MPI_Comm parent, const std::string& name, Patience patience);

}  // namespace trireme
