// What messages between ranks cost on this machine.
#pragma once

#include <span>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"

namespace trireme {

struct MessageTime {
    double bytes = 0;
    double seconds = 0;
};

// The link whose times differ least from these, each by its share. Neither latency nor time of a byte is below
// 0; bytes that take none have the bandwidth of the largest message.
Link fitted_link(std::span<const MessageTime> times);

// Collective over `all`, of at least two ranks. By messages to and fro, at once, of many sizes, medians of
// `repeats`: between the first two ranks of a node, and between the first ranks of two nodes, while the others
// wait. `nodes` has each rank's node: see Session. Where nodes have unlike numbers of ranks, or ranks do not
// lie node by node, there is one level, of the slowest link.
std::vector<LinkLevel> measure_links(Communicator& all, const std::vector<int>& nodes, std::size_t repeats);

}  // namespace trireme
