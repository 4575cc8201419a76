// What the ranks of a tensor team compute for each other: of a slow rank's projections helpers make the
// products of some input channels J, in training passes, and nothing is left out (FlexTP's migration, with the
// faults of its row form mended). The weights of J travel in the forward pass and stay at the helper until the
// backward pass; what else travels depends on what the projection reads.
//                        what all ranks have                       what its rank alone has
//   Y  = X[:,J] W[J,:]   P summed at the owner                     X[:,J] sent; P joins the sum over all ranks
//   dX[:,J] = dY W[J]^T  dY told to the helpers; joins the sum     sent back
//   dW[J,:] = X^T dY     sent back                                 sent back
#pragma once

#include <map>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/circle.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Channels of this rank that a helper computes.
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

// Of one projection; ranks are those of the team.
struct HelpedProduct {
    std::vector<LentChannels> lent = {};
    std::vector<GuestChannels> guests = {};      // by owner
    std::map<int, layout::Circle> circles = {};  // around each owner that this rank has to do with, its helpers
};

class HelpedProducts {
public:
    // The projections of each rank of the team, place by place the same; `rank` is this one.
    HelpedProducts(std::vector<std::vector<ProjectionShape>> projections, int rank, layout::Spread spread);

    // Begins a period, while no micro-batch is in flight. `kept` are the channels of each of this rank's
    // projections that are not left out: gives those that it computes itself, the first of them.
    Resizing::Lists begin(const std::vector<layout::Migration>& migrations, const Resizing::Lists& kept);
    // Collective over the team, behind that. Tells helpers which channels they are to compute.
    void tell(comm::Communicator& team);

    // Of this rank's channels, those that helpers compute.
    std::size_t lent_count(const std::vector<layout::Migration>& migrations,
                           const ProjectionShape& projection) const;

    // Null where nobody helps.
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

// The struct says how projections are rebalanced in training passes. Both objects outlive all passes.
struct Rebalancing {
    Resizing* resizing = nullptr;            // channels that are pruned; null: none
    const HelpedProducts* helped = nullptr;  // channels that tensor ranks compute for each other; null: none
};

}  // namespace trireme::model
