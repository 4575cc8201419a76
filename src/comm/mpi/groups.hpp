// Groups of MPI ranks: waiting for their ranks, creating them, and finding which ranks share a node.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "trireme/device/wait.hpp"

namespace trireme::comm {

// Collective over `ranks` of `parent`, which have the same order on every rank and include
// this one. Returns after all of them have called it, because the MPI call that creates a
// communicator has no time limit. The first of `ranks` waits as long as `patience` allows,
// and its error names the missing ranks; the others wait twice as long. `name` is the
// communicator's, for messages. No-op in a simulation, which detects deadlocks by itself.
void check_in(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
              device::Patience patience);

// Calls check_in() for all ranks of `parent`.
void check_in_all(MPI_Comm parent, const std::string& name, device::Patience patience);

// Collective over `ranks` of `parent` only. They are distinct, include this rank, and have the order of the new
// communicator. `name` is for messages; `patience` limits the wait for ranks that do not call it. The caller
// frees the communicator.
MPI_Comm create_group(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                      const device::Patience& patience);

// Collective over all ranks. Returns, per rank, the lowest rank of its node. A
// node is the ranks that share memory or, in a simulation, the ranks of one node
// of the cluster. `patience` limits the wait for ranks that do not call it.
std::vector<int> node_of_each(int rank, int size, const device::Patience& patience);

// Bandwidth at which a simulated core copies messages from ranks of its node; it computes nothing during the
// copy. 0 if adapters carry the messages, or if time is not simulated.
double copied_bytes_per_second();

}  // namespace trireme::comm
