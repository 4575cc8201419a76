// Checks that memory shared by ranks holds their combined need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme::setup {

// Memory of a node, a control group or a GPU, as one rank sees it.
struct SharedRoom {
    std::string key;    // equal on all ranks that share it, and on no others
    std::string ranks;  // which ranks share it: those of a host, or of a GPU of a host
    std::string name;   // e.g. "the node"
    std::string more;   // what the user can ask for, e.g. "more nodes"
    std::size_t left = 0;
};

// The bytes that a rank needs, and the keys of the memories that it uses.
struct RankNeed {
    std::vector<std::string> rooms;
    std::size_t bytes = 0;
};

// Returns a sentence about the first of a rank's memories whose ranks together need more than is left, or an
// empty string. `needs` has one entry per rank.
std::string complaint_about(const std::vector<SharedRoom>& rooms, const std::vector<RankNeed>& needs);

}  // namespace trireme::setup
