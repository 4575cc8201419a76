// The cores and the memory of a node that a rank may use.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::setup {

// Throws ConfigError if `threads` exceeds `limit`, the device::max_threads() of the node `host`.
void refuse_too_many_threads(int threads, int limit, const std::string& host);

// Collective over `control`. Returns the number of ranks, including this one, that are bound to the same cores
// as this rank.
int count_ranks_on_same_cores(const comm::Session& session, comm::Communicator& control);

// Collective over `control`. Returns the number of threads of this rank: 1 in a simulation; otherwise --threads
// if set; otherwise the number of cores that Slurm gives each rank; otherwise this rank's cores divided by the
// ranks that are bound to the same cores (without binding, all ranks of the node). Throws ConfigError on all
// ranks if --threads is too large on any rank.
int choose_threads(const config::RunConfig& config, const comm::Session& session, comm::Communicator& control);

// Collective over `control`. Returns the cores that each rank may run on, e.g. "0-3"; empty in a simulation.
std::vector<std::string> list_cores_per_rank(comm::Communicator& control);

// Collective over `control`. `rank_bytes` is what this rank will allocate in `space`. Returns on all ranks the
// same explanation if a node, a memory control group (the limit of a Slurm job or a container) or a GPU has
// less memory left than its ranks need together; otherwise an empty string.
std::string explain_lack_of_memory(std::size_t rank_bytes, device::MemorySpace space,
                                   const comm::Session& session, comm::Communicator& control);
// Collective over `control`. Throws ConfigError with the explanation of explain_lack_of_memory(), if any.
void require_memory(std::size_t rank_bytes, device::MemorySpace space, const comm::Session& session,
                    comm::Communicator& control);

// Returns the peak memory of this process: on the host the resident bytes, on a GPU the bytes allocated since
// reset_peak().
std::size_t read_peak_bytes(device::MemorySpace space);
// Returns the peak without mapped files, such as the code of libraries, which predictions do not include.
std::size_t read_peak_allocated_bytes(device::MemorySpace space);
// Restarts the peak if `space` is a GPU, and returns read_peak_allocated_bytes() as it is afterwards. The peak
// of host memory cannot be restarted, so callers subtract the returned value from a peak that they read later.
std::size_t reset_peak(device::MemorySpace space);

// Collective over `control`. `own_memory` is the memory of this rank. Returns the memory of the rank with the
// largest total.
RankMemory find_largest_rank_memory(comm::Communicator& control, const RankMemory& own_memory);

// Returns why the ranks of a node cannot have a shared-memory window of `bytes` bytes, or an empty string.
std::string explain_lack_of_node_memory(const comm::NodeMemory& memory, std::size_t bytes,
                                        const comm::Session& session);

}  // namespace trireme::setup
