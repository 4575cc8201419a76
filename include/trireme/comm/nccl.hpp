// NCCL, NVIDIA's library for messages between GPUs: how it is found, and groups that use it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/postman.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

// The library, which is loaded at run time.
class NcclLibrary;  // src/comm/nccl/library.hpp

struct NcclSearch {
    std::shared_ptr<const NcclLibrary> library = {};  // null if not found; see `complaint`
    int version = 0;                                  // in NCCL's encoding: 22809
    std::string complaint = {};                       // "NCCL 2.16.2 is older than 2.18, which is needed"
};

// Loads the first of `names` that the system finds.
NcclSearch find_nccl(const std::vector<std::string>& names = {"libnccl.so.2"});

std::string text_of_nccl_version(int version);  // "2.28.9"

using RankPair = std::pair<int, int>;  // sender and receiver of messages

std::vector<RankPair> every_pair_of(int ranks);

struct NcclWiring {
    std::shared_ptr<const NcclLibrary> library;  // from find_nccl()
    std::unique_ptr<Communicator> ranks;         // the group that is extended to tensors in GPU memory
    std::unique_ptr<Communicator> signals;       // a second group of the same ranks, for ready signals
    std::vector<RankPair> pairs;  // pairs that exchange tensors in GPU memory; equal on all ranks
    device::GpuQueue& queue;      // must outlive the group
    Postman& postman;             // must outlive the group
};

// Collective over the group. Extends it to tensors in GPU memory, and opens one NCCL channel per pair, one
// after the other. A send contains the results of all work that the queue had before it. Work that is queued
// after a receive is done sees the received values. Throws ResourceError if NCCL fails or a channel does not
// open in time. Later calls throw it too, naming both ranks, after all channels were aborted. While messages
// are in flight, ranks must not allocate or free GPU memory, because CUDA then waits for all work of the GPU.
std::unique_ptr<Communicator> nccl_group(NcclWiring wiring, device::Patience patience);

}  // namespace trireme::comm
