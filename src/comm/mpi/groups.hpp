// Groups of MPI ranks: waiting for their ranks, creating them, and which ranks share a node.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "trireme/device/wait.hpp"

namespace trireme::comm {

// Collective over `ranks` of `parent`, which have the same order on every rank and include this one. Returns
// once all of them have called it, so that the call that creates a communicator, which has no time limit, finds
// every rank there. The first of `ranks` waits as long as `patience` says, and names the ranks that are
// missing; the others wait twice as long for it. `name` is the communicator's, for messages. Does nothing in a
// simulation, which finds a deadlock by itself.
void check_in(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
              device::Patience patience);

// The same for all ranks of `parent`.
void check_in_all(MPI_Comm parent, const std::string& name, device::Patience patience);

// Collective over `ranks` of `parent` alone: distinct, in the order that they have in the new one, this one
// among them. `name` is for messages, and `patience` for ranks that do not call it. The caller frees the
// communicator.
MPI_Comm create_group(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                      const device::Patience& patience);

// Collective over all ranks. Of each rank the first that is on its node: whose memory it shares, or, where the
// machine is simulated, whose node it is said to be on.
// `patience` is for ranks that do not call it.
std::vector<int> node_of_each(int rank, int size, const device::Patience& patience);

// How quickly a simulated core copies what ranks of its node send to it; it computes nothing meanwhile. 0:
// adapters carry messages, or the machine is real and time passes by itself.
double copied_bytes_per_second();

}  // namespace trireme::comm
