// Which ranks share a node.
#pragma once

#include <vector>

namespace trireme {

// Collective over all ranks. Of each rank the first that is on its node: whose memory it shares, or, where the
// machine is simulated, whose node it is said to be on.
std::vector<int> node_of_each(int rank, int size);

}  // namespace trireme
