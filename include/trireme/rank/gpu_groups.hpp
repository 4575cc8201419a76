// Extends communicators of ranks to messages between their GPUs.
#pragma once

#include <vector>

#include "trireme/comm/nccl.hpp"
#include "trireme/comm/transport_choice.hpp"
#include "trireme/config/config.hpp"
#include "trireme/rank/rank_groups.hpp"
#include "trireme/rank/watchdog.hpp"

namespace trireme::rank {

// The transport of messages between GPUs. Both members have their default values if ranks use no GPUs or if
// there is only one rank.
struct GpuTransport {
    comm::TransportChoice choice = {};
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // null unless choice.uses_nccl
};

// Collective over `control`, which has all ranks. Loads NCCL, and makes the same choice on all ranks. Must be
// called after every rank has selected its GPU.
GpuTransport choose_gpu_transport(const config::RunConfig& config, const comm::Session& session,
                                  comm::Communicator& control);

// Returns the resources for groups whose messages carry tensors of `stream`. Sets the wait policy of the GPU's
// queue, so that the watchdog observes not only waits for other ranks, but also waits for the GPU.
GroupResources make_group_resources(device::Stream& stream, const GpuTransport& transport, Watchdog& watchdog);

// Collective over `group`. Extends `group` to tensors in GPU memory; no-op if `group` is null or has a single
// rank. `ranks` lists the members of `group` as ranks of the job. `pairs` lists the (sender, receiver) pairs
// that exchange tensors, as ranks of `group`; equal on all members. `resources` must belong to a stream on a
// GPU.
void extend_to_gpu(std::unique_ptr<comm::Communicator>& group, const std::vector<int>& ranks,
                   std::vector<comm::RankPair> pairs, const comm::Session& session,
                   const GroupResources& resources);

// Returns the (sender, receiver) pairs of ranks of `pipe` that exchange activations in a step or an evaluation.
// Each rank is given as its index in `pipe`. Both `pipe` (see RankGroups) and the result are sorted.
std::vector<comm::RankPair> find_stage_pairs(const plan::Plan& plan, const std::vector<int>& pipe);
// Returns the sorted pairs for gradients. Gradients travel in the opposite direction of the activations, whose
// pairs are `pairs`.
std::vector<comm::RankPair> reverse_pairs(std::vector<comm::RankPair> pairs);

}  // namespace trireme::rank
