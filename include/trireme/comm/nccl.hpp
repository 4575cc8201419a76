// Finds NCCL, NVIDIA's library for messages between GPUs, and makes groups that use it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/progress_engine.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

// The loaded library.
class NcclLibrary;  // src/comm/nccl/library.hpp

// A found library, or the reason why there is none.
struct NcclSearch {
    std::shared_ptr<const NcclLibrary> library = {};  // null if not found; see `complaint`
    int version = 0;                                  // in NCCL's encoding, for example 22809
    std::string complaint = {};  // why not found, for example "NCCL 2.16.2 is too old; ..."
};

// Loads the first of `names` that the system finds. Never throws: if loading fails, the result has the reason.
NcclSearch find_nccl(const std::vector<std::string>& names = {"libnccl.so.2"});

std::string nccl_version_to_string(int version);  // for example "2.28.9"

using RankPair = std::pair<int, int>;  // sender and receiver of messages

// Returns all ordered pairs of two different ranks from 0 to `ranks` - 1.
std::vector<RankPair> make_all_pairs(int ranks);

// The arguments of make_nccl_group().
struct NcclGroupSpec {
    std::shared_ptr<const NcclLibrary> library;  // from find_nccl()
    std::unique_ptr<Communicator> ranks;         // the group that is extended to tensors in GPU memory
    std::unique_ptr<Communicator> signals;       // second group of the same ranks: see comm/nccl/signals.hpp
    std::vector<RankPair> pairs;      // pairs that exchange tensors in GPU memory; equal on all ranks
    device::GpuQueue& queue;          // has the work that uses the tensors; must outlive the group
    ProgressEngine& progress_engine;  // must outlive the group
};

// Collective over `spec.ranks`. Extends that group to tensors in GPU memory. Opens one NCCL channel per pair,
// one after the other. A send transmits the results of all work that was queued before start_send(). After
// is_done() has returned true for a receive, work that is queued later reads the received values.
//
// Throws ResourceError, naming both ranks, if NCCL fails or a channel does not open in time. If NCCL fails
// later, the group's calls abort the messages of all groups of `progress_engine` and throw ResourceError. While
// messages are in flight, ranks must not allocate or free GPU memory, because CUDA then waits for all work of
// the GPU.
std::unique_ptr<Communicator> make_nccl_group(NcclGroupSpec spec, device::WaitPolicy wait_policy);

}  // namespace trireme::comm
