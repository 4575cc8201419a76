// Iterates over the other ranks of a group.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Returns an empty list with capacity for one send and one receive per peer.
inline std::vector<Communicator::RequestId> make_id_list(const Communicator& group) {
    std::vector<Communicator::RequestId> ids;
    ids.reserve(2 * static_cast<std::size_t>(group.size()));
    return ids;
}

// Calls function(peer) for each other rank. The first peer is the next rank of the group, so that not all ranks
// send to the same rank at once.
template <class Function>
void for_each_peer(const Communicator& group, Function&& function) {
    for (int step = 1; step < group.size(); ++step) function((group.rank() + step) % group.size());
}

}  // namespace trireme::comm
