// A rank's part of the node that it runs on.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::setup {

// Throws ConfigError for more threads of a rank than `most`, which `host` allows: see most_threads().
void refuse_too_many_threads(int threads, int most, const std::string& host);

// Collective over `control`. The number of ranks, this one included, that may run on the cores of this rank.
int ranks_on_own_cores(const comm::Session& session, comm::Communicator& control);

// Collective over `control`. --threads, or a ConfigError for too many; without it as many as Slurm gives each
// rank, or the rank's share of cores: they are shared by the ranks that may run on the same ones, which are all
// of a node, or one alone where the launcher has bound each to cores of its own.
int threads_per_rank(const config::RunConfig& config, const comm::Session& session,
                     comm::Communicator& control);

// Collective over `control`. The cores that each rank may run on: "0-3"; nothing in a simulation.
std::vector<std::string> cores_of_ranks(comm::Communicator& control);

// Collective over `control`. Says on all ranks why memory does not suffice; empty if it does. It does not if a
// node, a memory control group (the limit of a Slurm job or a container) or a GPU has less memory left than the
// ranks that share it need.
std::string lack_of_memory(std::size_t rank_bytes, device::MemorySpace place, const comm::Session& session,
                           comm::Communicator& control);
// As lack_of_memory(), but throws ConfigError.
void refuse_more_than_memory(std::size_t rank_bytes, device::MemorySpace place, const comm::Session& session,
                             comm::Communicator& control);

// Bytes that this process had there at once, at most: of a GPU since it was told to forget what was before,
// when it has the result.
std::size_t peak_bytes(device::MemorySpace place);
// The same without mapped files, such as the code of libraries, which no prediction counts.
std::size_t peak_allocated_bytes(device::MemorySpace place);
// Begins a new peak on a GPU. Returns peak_allocated_bytes().
std::size_t forget_peak(device::MemorySpace place);

// Collective over `control`. What the rank that needs most will hold.
RankMemory fullest(comm::Communicator& control, const RankMemory& own);

// Says why the ranks of a node cannot share that much memory; empty if they can.
std::string lack_of_node_memory(const comm::NodeMemory& memory, std::size_t bytes,
                                const comm::Session& session);

}  // namespace trireme::setup
