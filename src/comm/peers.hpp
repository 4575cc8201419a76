// Iterates over the other ranks of a group. Each rank starts with its successor, so that ranks do not all send
// to the same rank at once.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Returns an empty list with capacity for one send and one receive per peer.
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
