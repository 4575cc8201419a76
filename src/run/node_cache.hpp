// Makes the cache of samples of a node.
#pragma once

#include <memory>

#include "trireme/cache/sample_cache.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::run {

// Returns Job::caches with the cache of this rank. Collective over the ranks of a node. `rank_memory` is the
// memory that each of them will allocate, at most, and `shared_bytes` the shared memory that changes of plan
// need.
std::vector<std::shared_ptr<cache::SampleCache>> make_caches(const setup::Job& job,
                                                             const setup::RankMemory& rank_memory,
                                                             std::size_t shared_bytes,
                                                             const comm::Session& session,
                                                             const device::WaitPolicy& wait_policy);

// Returns Job::caches for ranks that share a process and compute no values. Without --cache-memory, all samples
// have a place.
std::vector<std::shared_ptr<cache::SampleCache>> make_ghost_caches(const setup::Job& job);

}  // namespace trireme::run
