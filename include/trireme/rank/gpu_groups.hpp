// Extends groups of ranks to messages between GPUs.
#pragma once

#include <vector>

#include "trireme/comm/gpu_messages.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/config/config.hpp"
#include "trireme/rank/rank_groups.hpp"
#include "trireme/rank/watchdog.hpp"

namespace trireme::rank {

// The transport of messages between GPUs. Default values if ranks use no GPUs, or if there is only one rank.
struct GpuRoad {
    comm::GpuMessages messages = {};
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // null if messages are staged through host memory
};
// Collective over `control`. Chooses the transport after ranks have chosen their devices.
GpuRoad gpu_road(const config::RunConfig& config, const comm::Session& session, comm::Communicator& control);

// Returns the wiring of groups that carry tensors of `stream`. The rank waits for its GPU with the same
// patience as for other ranks.
GroupWiring wiring_for(device::Stream& stream, const GpuRoad& road, Watchdog& watchdog);

// Collective over `group`. Extends `group` to tensors in GPU memory; no-op for null and for a single rank.
// `ranks` are its members as ranks of the job. `pairs` are those that exchange tensors, as ranks of the group.
void carry_tensors(std::unique_ptr<comm::Communicator>& group, const std::vector<int>& ranks,
                   std::vector<comm::RankPair> pairs, const comm::Session& session, const GroupWiring& wiring);

// Returns the pairs of ranks of which the first sends activations to the second, in some micro-batch of a step
// or an evaluation; ascending. Ranks are positions in `pipe`.
std::vector<comm::RankPair> pairs_between_stages(const plan::Plan& plan, const std::vector<int>& pipe);
// Returns the reversed pairs, ascending: gradients travel opposite to activations.
std::vector<comm::RankPair> the_other_way(std::vector<comm::RankPair> pairs);

}  // namespace trireme::rank
