// The other ranks of a group, in the order in which each rank speaks to them: its next one first, so that they
// do not all send to the same rank at once.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Messages of one collective; room for one to and one from each peer.
inline std::vector<Communicator::Ticket> room_for_tickets(const Communicator& group) {
    std::vector<Communicator::Ticket> tickets;
    tickets.reserve(2 * static_cast<std::size_t>(group.size()));
    return tickets;
}

template <class Use>
void for_each_peer(const Communicator& group, Use&& use) {
    for (int step = 1; step < group.size(); ++step) use((group.rank() + step) % group.size());
}

}  // namespace trireme::comm
