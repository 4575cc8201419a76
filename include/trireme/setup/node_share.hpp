// The cores and the memory of a node that a rank may use.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/setup/memory_prediction.hpp"

namespace trireme::setup {

// Throws ConfigError if `threads` exceeds `limit`. `limit` is device::max_threads() on the node `host`.
void refuse_too_many_threads(int threads, int limit, const std::string& host);

// Collective over `control`. Returns the number of ranks, including this rank, that are bound to exactly the
// same cores of the same node as this rank.
int count_ranks_on_same_cores(const comm::Session& session, comm::Communicator& control);

// Collective over `control`. Returns the number of threads of this rank, which is the first of these numbers
// that applies:
// - 1 in a simulation
// - --threads if set
// - the number of cores that Slurm gives each rank, if known, but at most the number of cores that this rank
//   may use
// - the number of cores that this rank may use divided by count_ranks_on_same_cores(), but at least 1. Without
//   binding, all ranks of a node share all cores of the node.
// Throws ConfigError on all ranks if --threads exceeds device::max_threads() on any rank.
int choose_threads(const config::RunConfig& config, const comm::Session& session, comm::Communicator& control);

// Collective over `control`. Returns, per rank, the numbers of the cores on which the rank may run, e.g. "0-3".
// Empty in a simulation.
std::vector<std::string> list_cores_per_rank(comm::Communicator& control);

// Collective over `control`. `rank_bytes` is the number of bytes that this rank will allocate in `space`. If a
// node, a memory control group (the limit of a Slurm job or a container) or a GPU has less free memory than its
// ranks need together, returns an explanation, which is the same on all ranks. Returns an empty string if the
// memory suffices or if the free memory is unknown.
std::string explain_lack_of_memory(std::size_t rank_bytes, device::MemorySpace space,
                                   const comm::Session& session, comm::Communicator& control);
// Collective over `control`. Throws ConfigError with the text of explain_lack_of_memory(), unless it is empty.
void require_memory(std::size_t rank_bytes, device::MemorySpace space, const comm::Session& session,
                    comm::Communicator& control);

// Returns the peak memory of this process in bytes: on the host the maximum of its resident memory, on a GPU
// the maximum of its allocated memory since the last reset_peak(). 0 if unknown.
std::size_t read_peak_bytes(device::MemorySpace space);
// Returns the same peak, but on the host without mapped files, such as the code of libraries. Predictions of
// memory do not include mapped files.
std::size_t read_peak_allocated_bytes(device::MemorySpace space);
// If `space` is a GPU, resets the peak to the bytes that are allocated now. Returns read_peak_allocated_bytes()
// after the reset. The peak of host memory cannot be reset. Callers subtract the returned value from a peak
// that they read later, which gives the growth of the peak.
std::size_t reset_peak(device::MemorySpace space);

// Collective over `control`. `own_memory` is the memory of this rank. Returns, on all ranks, the memory of the
// rank with the largest RankMemory::total(). The member `activation` of the result is 0.
RankMemory find_largest_rank_memory(comm::Communicator& control, const RankMemory& own_memory);

// Returns why the ranks of a node cannot allocate `bytes` bytes of shared memory for staging copies
// (`--move twins`). Empty if they can, or if the free bytes are unknown.
std::string explain_lack_of_node_memory(const comm::NodeMemory& memory, std::size_t bytes,
                                        const comm::Session& session);

}  // namespace trireme::setup
