// Checks that the memory which several ranks share is large enough for all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme::setup {

// The memory of a node, a memory control group or a GPU, as one rank sees it.
struct SharedMemoryPool {
    std::string key;       // equal on all ranks that share the memory, and on no other ranks
    std::string ranks;     // host or GPU of the ranks that share the memory, for messages
    std::string name;      // name of the memory, for example "the node"
    std::string more;      // a remedy for a lack of memory, for example "more nodes"
    std::size_t left = 0;  // bytes that can still be allocated
};

// The bytes that a rank needs, and the keys of all pools to which these bytes belong.
struct RankNeed {
    std::vector<std::string> pool_keys;
    std::size_t bytes = 0;
};

// Returns a message about the first of `pools` whose ranks together need more bytes than the pool has left, or
// an empty string if every pool suffices. `needs` has one entry per rank of the job.
std::string explain_lack(const std::vector<SharedMemoryPool>& pools, const std::vector<RankNeed>& needs);

}  // namespace trireme::setup
