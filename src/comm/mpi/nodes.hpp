// Which ranks share a node.
#pragma once

#include <vector>

namespace trireme {

// Collective over all ranks. Of each rank the first that is on its node: whose memory it shares, or, where the
// machine is simulated, whose node it is said to be on.
std::vector<int> node_of_each(int rank, int size);

// What of messages between ranks of a node a simulated core carries a second, its own and those for it, while it
// computes nothing; 0: nothing, as adapters carry them, or as the machine is real and time passes by itself.
double carried_bytes_per_second();

}  // namespace trireme
