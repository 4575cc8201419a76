// Checks that memory shared by ranks holds their combined need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme::setup {

// Memory of a node, a control group or a GPU, as one rank sees it.
struct SharedRoom {
    std::string key;    // equal on all ranks that share it, and on no others
    std::string ranks;  // whose ranks those are: a host, or a GPU of a host
    std::string name;   // "the node"
    std::string more;   // what the user can ask for: "more nodes"
    std::size_t left = 0;
};

// The bytes that a rank needs, and the keys of the rooms that it is in.
struct RankNeed {
    std::vector<std::string> rooms;
    std::size_t bytes = 0;
};

// A sentence about the first of a rank's rooms in which all ranks that share it need more than is left; empty
// if there is none. `needs` has all ranks.
std::string complaint_about(const std::vector<SharedRoom>& rooms, const std::vector<RankNeed>& needs);

}  // namespace trireme::setup
