// NVIDIA's library that carries messages from GPU to GPU: how it is found, and groups that use it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/postman.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

// NVIDIA's library that carries messages from GPU to GPU, looked for when the program runs.
class NcclLibrary;  // src/comm/nccl/library.hpp

struct NcclSearch {
    std::shared_ptr<const NcclLibrary> library = {};  // none: see complaint
    int version = 0;                                  // as NCCL counts: 22809
    std::string complaint = {};                       // "NCCL 2.16.2 is older than 2.18, which is needed"
};

// The first of these names that the system finds.
NcclSearch find_nccl(const std::vector<std::string>& names = {"libnccl.so.2"});

std::string text_of_nccl_version(int version);  // "2.28.9"

// Messages from GPU to GPU, carried by NCCL.
using RankPair = std::pair<int, int>;  // messages go from the first to the second

std::vector<RankPair> every_pair_of(int ranks);

struct NcclWiring {
    std::shared_ptr<const NcclLibrary> library;  // find_nccl()'s
    std::unique_ptr<Communicator> ranks;         // the group that gets another way for the GPU's tensors
    std::unique_ptr<Communicator> signals;  // the same ranks again: they tell each other that they are ready
    std::vector<RankPair> pairs;            // that send each other tensors of the GPU; the same on all ranks
    device::GpuQueue& queue;                // outlives the group, as does
    Postman& postman;
};

// Collective over the group. The same group for tensors of the GPU, too; a channel of NCCL's for each pair is
// opened now, one after the other. What the queue was given before a send is in it, and what it is given after
// a receive is done sees what came. Throws ResourceError where NCCL fails or a channel does not open in time,
// and later from any call, naming both ranks; all channels are given up then. While messages are in flight,
// ranks do not take or give back memory of the GPU: to CUDA that is to wait for all that it does.
std::unique_ptr<Communicator> nccl_group(NcclWiring wiring, device::Patience patience);

}  // namespace trireme::comm
