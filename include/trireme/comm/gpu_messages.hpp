// Chooses the transport of messages between GPUs, and implements the host-staged one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/comm/postman.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

// The properties of a rank on which the choice depends.
struct GpuAddress {
    std::string host = {};
    std::string name = {};    // "NVIDIA H200"
    std::string bus_id = {};  // "0000:1B:00.0"
    int nccl_version = 0;
    std::string nccl_complaint = {};  // the reason if NCCL is missing
};

struct GpuMessages {
    bool is_by_nccl = false;    // otherwise staged through host memory: staged_group()
    std::string sentence = {};  // for the log: "NCCL 2.28.9"
};

// Chooses NCCL if all ranks have the same version of it and
// a GPU of their own. NCCL refuses ranks that share a GPU.
GpuMessages choose_gpu_messages(const std::vector<GpuAddress>& ranks);

// Collective over `group`. Returns the same choice on all ranks.
GpuMessages choose_gpu_messages(Communicator& group, const std::string& host, const device::GpuFacts& gpu,
                                const NcclSearch& nccl);

// Extends a group to tensors in GPU memory, which travel through host memory. For ranks that share a GPU, or
// whose GPUs no library connects. A send contains the results of all work that `queue` had before it. Work that
// is queued after a receive is done sees the received values. `queue` and `postman` must outlive the group.
std::unique_ptr<Communicator> staged_group(std::unique_ptr<Communicator> ranks, device::GpuQueue& queue,
                                           Postman& postman, device::Patience patience);

}  // namespace trireme::comm
