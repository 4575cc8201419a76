// Offloaded matmuls within a tensor team: in training passes helper ranks compute a slow rank's matmuls with
// some of its input channels J, so that none of these is skipped (FlexTP's migration; its row form is
// corrected). The weights of J are sent in the forward pass and stay at the helper until the backward pass. The
// other messages depend on the input of the projection:
//                        input equal on all ranks               input of the owner alone
//   Y  = X[:,J] W[J,:]   terms are reduced to the owner         X[:,J] is sent; term joins the all-reduce
//   dX[:,J] = dY W[J]^T  dY is broadcast; joins the all-reduce  is sent back
//   dW[J,:] = X^T dY     is sent back                           is sent back
#pragma once

#include <map>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/circle.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Channels of this rank that a helper rank computes.
struct LentChannels {
    int helper = 0;
    KeptChannels channels = {};
};

// Channels of another rank that this one computes.
struct GuestChannels {
    int owner = 0;
    ProjectionShape shape = {};  // the owner's
    KeptChannels channels = {};
};

// The offloaded work of one projection. Ranks are numbered within the team.
struct HelpedProduct {
    std::vector<LentChannels> lent = {};
    std::vector<GuestChannels> guests = {};  // in the order of owners
    // Per owner (this rank, or a rank that it helps): the broadcast tree of the owner and its helpers.
    std::map<int, layout::Circle> circles = {};
};

class HelpedProducts {
public:
    // `projections` has one list per rank of the team, all with the same places; `rank` is this rank's number.
    HelpedProducts(std::vector<std::vector<ProjectionShape>> projections, int rank, layout::Spread spread);

    // Begins a period; called while no micro-batch is in flight. `kept` lists the channels of this rank's
    // projections that are not skipped. Returns those that this rank computes itself: the first of each list.
    Resizing::Lists begin(const std::vector<layout::Migration>& migrations, const Resizing::Lists& kept);
    // Collective over the team; called after begin(). Sends the lists of offloaded channels to the helpers.
    void tell(comm::Communicator& team);

    // Returns the number of this rank's channels that helper ranks compute.
    std::size_t lent_count(const std::vector<layout::Migration>& migrations,
                           const ProjectionShape& projection) const;

    // Returns null if no rank helps with the projection.
    const HelpedProduct* at(const ProjectionPlace& place) const;

private:
    void lend(const std::vector<layout::Migration>& migrations, const ProjectionShape& projection,
              std::vector<std::int32_t>& kept);
    void take_in(const std::vector<layout::Migration>& migrations, int owner,
                 const ProjectionShape& projection);

    std::vector<std::vector<ProjectionShape>> projections_;
    int rank_;
    layout::Spread spread_;
    std::map<ProjectionPlace, HelpedProduct> products_;
};

// Rebalancing of projections in training passes. Both objects outlive all passes.
struct Rebalancing {
    Resizing* resizing = nullptr;            // skipped channels; null if no channel is skipped
    const HelpedProducts* helped = nullptr;  // offloaded channels; null if none
};

}  // namespace trireme::model
