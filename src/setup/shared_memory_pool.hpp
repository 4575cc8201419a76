// Checks that a memory which several ranks share is large enough for all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme::setup {

// The memory of a node, a memory control group or a GPU, as one rank sees it.
struct SharedMemoryPool {
    std::string key;       // equal on all ranks that share the memory, and on no others
    std::string ranks;     // names the ranks that share the memory by their host or GPU
    std::string name;      // e.g. "the node"
    std::string more;      // what the user can ask for, e.g. "more nodes"
    std::size_t left = 0;  // bytes that can still be allocated
};

// The bytes that a rank needs, and the keys of the pools from which it allocates them.
struct RankNeed {
    std::vector<std::string> pool_keys;
    std::size_t bytes = 0;
};

// Returns a sentence about the first of `pools` whose ranks together need more bytes than are left in it, or an
// empty string. `needs` has one entry per rank of the job.
std::string explain_lack(const std::vector<SharedMemoryPool>& pools, const std::vector<RankNeed>& needs);

}  // namespace trireme::setup
