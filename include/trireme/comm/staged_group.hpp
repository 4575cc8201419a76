// Messages of ranks that share a GPU, or whose GPUs no library connects.
#pragma once

#include <memory>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/postman.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme {

// The same group for tensors of the GPU, too: these travel by way of the machine's memory. What `queue` was
// given before a send is in it, and what it is given after a receive sees what came. The queue and the postman
// outlive the group.
std::unique_ptr<Communicator> staged_group(std::unique_ptr<Communicator> ranks, GpuQueue& queue,
                                           Postman& postman, Patience patience);

}  // namespace trireme
