// Offloaded matmuls within a tensor team (FlexTP's migration). The row-parallel form is incorrect as published;
// it is corrected here. In training passes, a helper rank computes the matmuls with some input channels J of a
// slow rank (the owner), so that the owner need not skip J. The owner sends its weights W[J,:] in the forward
// pass, and the helper stores them until the backward pass. X is the input of the projection, and Y its output.
// In a column-parallel projection X is equal on all ranks of the team. In a row-parallel projection each rank
// has different channels of X. The messages other than W[J,:] are:
//                           column parallel                    row parallel
//   Y += X[:,J] W[J,:]      terms are reduced to the owner     X[:,J] is sent to the helper;
//                                                              the term joins the all-reduce
//   dX[:,J] = dY W[J,:]^T   dY is broadcast to the helpers;    dX[:,J] is sent to the owner
//                           dX[:,J] joins the all-reduce
//   dW[J,:] = X[:,J]^T dY   dW[J,:] is sent to the owner       dW[J,:] is sent to the owner
#pragma once

#include <map>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Channels of this rank (the owner) that a helper rank computes. `helper` is the number of the helper rank
// within the team.
struct OffloadedChannels {
    int helper = 0;
    SelectedChannels channels = {};
};

// Channels of another rank (the owner) that this rank computes. `owner` is the number of the owner within the
// team.
struct HelperTask {
    int owner = 0;
    ProjectionShape shape = {};  // of the owner's slice of the projection
    SelectedChannels channels = {};
};

// The offloaded work of one projection in which this rank takes part.
struct OffloadedMatmul {
    std::vector<OffloadedChannels> offloaded = {};  // one per helper of this rank
    std::vector<HelperTask> helper_tasks = {};      // ascending by owner
    // Per owner (this rank, or an owner in `helper_tasks`): the broadcast tree of the owner and its helpers.
    std::map<int, layout::BroadcastTree> trees = {};
};

// The offloaded work of all projections of this rank's stages.
class OffloadedMatmuls {
public:
    // `projections` has one list per rank of the team, with the shapes of that rank's slices. All lists have
    // the same projection ids. `rank` is this rank's number within the team. `spread` is the shape of the
    // broadcast trees.
    OffloadedMatmuls(std::vector<std::vector<ProjectionShape>> projections, int rank, layout::Spread spread);

    // Begins a period, in which the offloaded channels do not change. Must be called while no micro-batch is in
    // flight. `kept` lists, for each projection of this rank, the channels that are not skipped. The last
    // channels of each list are offloaded. Returns the remaining channels, which this rank computes itself.
    // Throws BugError if offloading empties a list.
    Resizing::ChannelLists begin_period(const std::vector<layout::Migration>& migrations,
                                        const Resizing::ChannelLists& kept);
    // Collective over the team; called after begin_period(). Owners send the lists of offloaded channels to
    // their helpers.
    void send_channel_lists(comm::Communicator& team);

    // Returns the number of channels of `projection` that this rank offloads under `migrations`.
    std::size_t count_offloaded_channels(const std::vector<layout::Migration>& migrations,
                                         const ProjectionShape& projection) const;

    // Returns the offloaded work of a projection. Returns null if this rank neither offloads channels of the
    // projection nor computes channels of the projection for another rank.
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

// Rebalancing of projections in training passes. The two objects must outlive all passes that use them.
struct Rebalancing {
    // Lists the channels that this rank computes itself; null if it never skips or offloads channels.
    Resizing* resizing = nullptr;
    const OffloadedMatmuls* offloaded_work = nullptr;  // null if no rank of the team ever offloads channels
};

}  // namespace trireme::model
