// Which ranks share a node.
#pragma once

#include <vector>

#include "trireme/device/wait.hpp"

namespace trireme {

// Collective over all ranks. Of each rank the first that is on its node: whose memory it shares, or, where the
// machine is simulated, whose node it is said to be on.
// `patience` is for ranks that do not call it.
std::vector<int> node_of_each(int rank, int size, const Patience& patience);

// How quickly a simulated core copies what ranks of its node send to it; it computes nothing meanwhile. 0:
// adapters carry messages, or the machine is real and time passes by itself.
double copied_bytes_per_second();

}  // namespace trireme
