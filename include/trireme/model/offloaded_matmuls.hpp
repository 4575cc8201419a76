// Offloaded matmuls within a tensor team: in training passes helper ranks compute, for a slow rank (the owner),
// the matmuls with some input channels J of the owner, so that the owner need not skip J. (FlexTP calls this
// migration; its row-parallel form is corrected here.) The owner sends its weights W[J,:] in the forward pass,
// and the helper stores them until the backward pass. The other messages depend on the input X of the
// projection, which is equal on all ranks of the team (column parallel), or has other channels on each rank
// (row parallel). Y is the output:
//                           column parallel                          row parallel
//   Y = X[:,J] W[J,:]       terms are reduced to the owner           X[:,J] is sent; term joins the all-reduce
//   dX[:,J] = dY W[J,:]^T   dY is broadcast; joins the all-reduce    dX[:,J] is sent to the owner
//   dW[J,:] = X[:,J]^T dY   dW[J,:] is sent to the owner             dW[J,:] is sent to the owner
#pragma once

#include <map>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Channels of this rank (the owner) that a helper rank computes. Ranks are numbered within the team.
struct OffloadedChannels {
    int helper = 0;
    SelectedChannels channels = {};
};

// Channels of another rank (the owner) that this rank computes.
struct HelperTask {
    int owner = 0;
    ProjectionShape shape = {};  // of the owner's part of the projection
    SelectedChannels channels = {};
};

// The offloaded work of one projection in which this rank takes part.
struct OffloadedMatmul {
    std::vector<OffloadedChannels> offloaded = {};
    std::vector<HelperTask> helper_tasks = {};  // ascending by owner
    // Per owner (this rank, or an owner in `helper_tasks`): the broadcast tree of the owner and its helpers.
    std::map<int, layout::BroadcastTree> trees = {};
};

// The offloaded work of all projections of this rank's stages.
class OffloadedMatmuls {
public:
    // `projections` has one list per rank of the team, all with the same ids; `rank` is this rank's number.
    OffloadedMatmuls(std::vector<std::vector<ProjectionShape>> projections, int rank, layout::Spread spread);

    // Begins a period. Must be called while no micro-batch is in flight. `kept` lists the channels of this
    // rank's projections that are not skipped. Returns the channels that this rank computes itself, which are
    // the first ones of each list; the last ones are offloaded.
    Resizing::ChannelLists begin_period(const std::vector<layout::Migration>& migrations,
                                        const Resizing::ChannelLists& kept);
    // Collective over the team; called after begin_period(). Sends the lists of offloaded channels to the
    // helpers.
    void send_channel_lists(comm::Communicator& team);

    // Returns the number of channels of the projection that this rank offloads.
    std::size_t count_offloaded_channels(const std::vector<layout::Migration>& migrations,
                                         const ProjectionShape& projection) const;

    // Returns null if this rank neither offloads channels of the projection nor helps with it.
    const OffloadedMatmul* at(const ProjectionId& id) const;

private:
    void offload_channels(const std::vector<layout::Migration>& migrations, const ProjectionShape& projection,
                          std::vector<std::int32_t>& kept);
    void add_helper_task(const std::vector<layout::Migration>& migrations, int owner,
                         const ProjectionShape& projection);

    std::vector<std::vector<ProjectionShape>> projections_;
    int rank_;
    layout::Spread spread_;
    std::map<ProjectionId, OffloadedMatmul> matmuls_;
};

// Rebalancing of projections in training passes. Both objects must outlive all passes that use them.
struct Rebalancing {
    Resizing* resizing = nullptr;  // channels that this rank computes itself; null if it computes all
    const OffloadedMatmuls* offloaded_work = nullptr;  // offloaded channels; null if none
};

}  // namespace trireme::model
