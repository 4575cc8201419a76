// Waits for the ranks of a new group, creates MPI communicators, and finds which ranks share a node.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "trireme/device/wait.hpp"

namespace trireme::comm {

// Collective over `ranks` of `parent`. Every rank passes the same list, which includes the rank itself. Returns
// after all `ranks` have called this function. MPI's calls that create a communicator have no time limit;
// therefore this function is called before them. The first of `ranks` waits as long as `wait_policy` allows,
// and its error names the missing ranks; the others wait twice as long. `name` is the name of the communicator,
// for error messages. No-op in a simulation, which detects deadlocks by itself.
void wait_for_ranks(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                    device::WaitPolicy wait_policy);

// Calls wait_for_ranks() for all ranks of `parent`.
void wait_for_all_ranks(MPI_Comm parent, const std::string& name, device::WaitPolicy wait_policy);

// Collective over `ranks` of `parent` only. Makes a communicator in which rank r is ranks[r] of `parent`. The
// ranks are distinct and include this rank. `name` is for error messages; `wait_policy` limits the wait for
// ranks that do not make the call. The caller frees the communicator.
MPI_Comm create_group(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                      const device::WaitPolicy& wait_policy);

// Collective over all ranks. Returns for each rank of the job the lowest rank of its node. `rank` is this rank,
// and `size` is the number of ranks of the job. A node is the ranks that share memory or, in a simulation, the
// ranks of one node of the cluster. `wait_policy` limits the wait for ranks that do not make the call.
std::vector<int> find_nodes(int rank, int size, const device::WaitPolicy& wait_policy);

// Returns the bandwidth, in bytes per second, at which a simulated core copies messages from ranks of its node;
// the core computes nothing during a copy. Returns 0 if network adapters carry the messages. Also returns 0
// outside of a simulation, where copies take wall-clock time anyway.
double find_copy_bandwidth();

}  // namespace trireme::comm
