// Chooses the transport of messages between GPUs (NCCL or host-staged), and makes host-staged groups.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/comm/progress_engine.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

// The properties of a rank on which the choice of the transport depends.
struct TransportFacts {
    std::string host = {};
    std::string name = {};            // of the rank's GPU, for example "NVIDIA H200"
    std::string bus_id = {};          // of the rank's GPU, for example "0000:1B:00.0"
    int nccl_version = 0;             // in NCCL's encoding; 0 if NCCL cannot be used
    std::string nccl_complaint = {};  // why NCCL cannot be used; empty if it can
};

struct TransportChoice {
    bool uses_nccl = false;        // otherwise staged through host memory: make_staged_group()
    std::string description = {};  // for the log: "NCCL 2.28.9", for example, or why NCCL is not used
};

// Chooses NCCL if all ranks have the same version of NCCL and each rank has a GPU of its own. NCCL refuses
// ranks that share a GPU.
TransportChoice choose_transport(const std::vector<TransportFacts>& ranks);

// Collective over `group`. Gathers the facts of all ranks. Returns the same choice on all ranks.
TransportChoice choose_transport(Communicator& group, const std::string& host, const device::GpuFacts& gpu,
                                 const NcclSearch& nccl);

// Extends `host_group`, which sends tensors in host memory, to tensors in GPU memory. Tensors in GPU memory
// travel through host memory. Serves ranks that share a GPU, and ranks whose GPUs NCCL cannot connect. A send
// transmits the results of all work that was queued on `queue` before start_send(). After is_done() has
// returned true for a receive, work that is queued later on `queue` reads the received values. `queue` and
// `progress_engine` must outlive the group.
std::unique_ptr<Communicator> make_staged_group(std::unique_ptr<Communicator> host_group,
                                                device::GpuQueue& queue, ProgressEngine& progress_engine,
                                                device::WaitPolicy wait_policy);

}  // namespace trireme::comm
