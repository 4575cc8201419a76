// Which way messages take from one rank's GPU to another's, why, and the way by the machine's memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/comm/postman.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

// What of a rank decides that.
struct GpuAddress {
    std::string host = {};
    std::string name = {};    // "NVIDIA H200"
    std::string bus_id = {};  // "0000:1B:00.0"
    int nccl_version = 0;
    std::string nccl_complaint = {};  // why there is none
};

struct GpuMessages {
    bool is_by_nccl = false;    // otherwise by the machine's memory: staged_group()
    std::string sentence = {};  // for the log: "NCCL 2.28.9"
};

// By NCCL where all ranks have it, of one version, and a GPU of their own: it refuses those that share one.
GpuMessages choose_gpu_messages(const std::vector<GpuAddress>& ranks);

// Collective over `group`: the same on all ranks.
GpuMessages choose_gpu_messages(Communicator& group, const std::string& host, const device::GpuFacts& gpu,
                                const NcclSearch& nccl);

// For ranks that share a GPU, or whose GPUs no library connects.
// The same group for tensors of the GPU, too: these travel by way of the machine's memory. What `queue` was
// given before a send is in it, and what it is given after a receive sees what came. The queue and the postman
// outlive the group.
std::unique_ptr<Communicator> staged_group(std::unique_ptr<Communicator> ranks, device::GpuQueue& queue,
                                           Postman& postman, device::Patience patience);

}  // namespace trireme::comm
