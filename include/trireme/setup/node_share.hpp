// The cores and the memory of a node that a rank may use.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::setup {

// Throws ConfigError if a rank has more threads than `most`, the limit of `host`: see most_threads().
void refuse_too_many_threads(int threads, int most, const std::string& host);

// Collective over `control`. Returns the number of ranks, including this one, that may run on this rank's
// cores.
int ranks_on_own_cores(const comm::Session& session, comm::Communicator& control);

// Collective over `control`. Returns --threads, if set, or throws ConfigError if that is too large. Otherwise
// returns the number of cores that Slurm gives each rank, or divides this rank's cores by the ranks that may
// run on the same cores. Without binding these are all ranks of the node.
int threads_per_rank(const config::RunConfig& config, const comm::Session& session,
                     comm::Communicator& control);

// Collective over `control`. Returns the cores that each rank may run on, e.g. "0-3"; empty in a simulation.
std::vector<std::string> cores_of_ranks(comm::Communicator& control);

// Collective over `control`. Returns on all ranks why memory does not suffice, or an empty string. Memory does
// not suffice if a node, a memory control group (the limit of a Slurm job or a container) or a GPU has less
// left than its ranks need.
std::string lack_of_memory(std::size_t rank_bytes, device::MemorySpace place, const comm::Session& session,
                           comm::Communicator& control);
// Like lack_of_memory(), but throws ConfigError.
void refuse_more_than_memory(std::size_t rank_bytes, device::MemorySpace place, const comm::Session& session,
                             comm::Communicator& control);

// Returns the peak memory of this process: resident bytes on the host, allocated bytes on a GPU (since
// forget_peak()).
std::size_t peak_bytes(device::MemorySpace place);
// The same without mapped files, such as the code of libraries, which predictions do not include.
std::size_t peak_allocated_bytes(device::MemorySpace place);
// Restarts the peak of a GPU. Returns peak_allocated_bytes().
std::size_t forget_peak(device::MemorySpace place);

// Collective over `control`. Returns the memory of the rank that needs most in total.
RankMemory fullest(comm::Communicator& control, const RankMemory& own);

// Returns why the ranks of a node cannot share `bytes` bytes of memory, or an empty string.
std::string lack_of_node_memory(const comm::NodeMemory& memory, std::size_t bytes,
                                const comm::Session& session);

}  // namespace trireme::setup
