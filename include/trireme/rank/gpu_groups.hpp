// Extends communicators of ranks to messages between their GPUs.
#pragma once

#include <vector>

#include "trireme/comm/nccl.hpp"
#include "trireme/comm/transport_choice.hpp"
#include "trireme/config/config.hpp"
#include "trireme/rank/rank_groups.hpp"
#include "trireme/rank/watchdog.hpp"

namespace trireme::rank {

// The transport of messages between GPUs. Has default values if ranks use no GPUs or if there is only one rank.
struct GpuTransport {
    comm::TransportChoice choice = {};
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // null if messages are staged through host memory
};
// Collective over `control`. Called after every rank has chosen its device.
GpuTransport choose_gpu_transport(const config::RunConfig& config, const comm::Session& session,
                                  comm::Communicator& control);

// Returns the resources for groups whose messages carry tensors of `stream`. Also sets the wait policy of the
// GPU's queue, so that the watchdog observes waits for the GPU as it observes waits for other ranks.
GroupResources make_group_resources(device::Stream& stream, const GpuTransport& transport, Watchdog& watchdog);

// Collective over `group`. Extends `group` to tensors in GPU memory; no-op if it is null or has a single rank.
// `ranks` lists the members of `group` as ranks of the job. `pairs` lists the (sender, receiver) pairs that
// exchange tensors, as ranks of `group`.
void extend_to_gpu(std::unique_ptr<comm::Communicator>& group, const std::vector<int>& ranks,
                   std::vector<comm::RankPair> pairs, const comm::Session& session,
                   const GroupResources& resources);

// Returns, sorted, the (sender, receiver) pairs of ranks between which activations travel in a step or an
// evaluation. Ranks are given as their indices in `pipe`.
std::vector<comm::RankPair> find_stage_pairs(const plan::Plan& plan, const std::vector<int>& pipe);
// Returns the reversed pairs, sorted: gradients travel opposite to activations.
std::vector<comm::RankPair> reverse_pairs(std::vector<comm::RankPair> pairs);

}  // namespace trireme::rank
