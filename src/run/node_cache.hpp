// Makes the cache of samples of a node.
#pragma once

#include <memory>

#include "trireme/cache/sample_cache.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::run {

// Collective over the ranks of a node. `rank_memory` is the memory that each of them will allocate, at most,
// and `shared_bytes` the shared memory that changes of plan need. Returns null without --cache.
std::shared_ptr<cache::SampleCache> make_node_cache(const setup::Job& job, const setup::RankMemory& rank_memory,
                                                    std::size_t shared_bytes, const comm::Session& session,
                                                    const device::WaitPolicy& wait_policy);

}  // namespace trireme::run
