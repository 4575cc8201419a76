// Groups in which tensors of GPUs travel.
#pragma once

#include <vector>

#include "trireme/comm/gpu_messages.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/config/config.hpp"
#include "trireme/rank/rank_groups.hpp"
#include "trireme/rank/watchdog.hpp"

namespace trireme::rank {

// Collective over `control`. Which way tensors of this job take, once ranks have chosen a device; nothing where
// it is no GPU, or the job one rank alone.
struct GpuRoad {
    comm::GpuMessages messages = {};
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // none: by the machine's memory
};
GpuRoad gpu_road(const config::RunConfig& config, const comm::Session& session, comm::Communicator& control);

// For groups in which what `stream` computes travels. Its GPU is waited for as long as other ranks are.
GroupWiring wiring_for(device::Stream& stream, const GpuRoad& road, Watchdog& watchdog);

// Of `group`, whose ranks have these numbers in the job: those that send to each other in it are `pairs` of its
// own numbers. Collective over it.
void carry_tensors(std::unique_ptr<comm::Communicator>& group, const std::vector<int>& ranks,
                   std::vector<comm::RankPair> pairs, const comm::Session& session, const GroupWiring& wiring);

// The ranks of a pipe, by their places in it, of which the first sends activations to the second, in some
// micro-batch of a step or of an evaluation; ascending. Gradients go the other way.
std::vector<comm::RankPair> pairs_between_stages(const plan::Plan& plan, const std::vector<int>& pipe);
std::vector<comm::RankPair> the_other_way(std::vector<comm::RankPair> pairs);

}  // namespace trireme::rank
