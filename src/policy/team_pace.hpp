// How fast teams are, as they are and as others would be, by what was observed of their ranks.
#pragma once

#include <vector>

#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/uneven.hpp"

namespace trireme::policy {

using Shares = std::vector<std::size_t>;

// Seconds for each second of work.
struct TeamPace {
    double products = 0;
    double others = 0;

    double seconds(const LayerWork& work) const { return products * work.products + others * work.others; }
};

class TeamPaces {
public:
    // All outlive it.
    TeamPaces(const plan::Observation& observed, const plan::Plan& current, const RunWork& work,
              const UnevenRules& rules);

    // Of ranks that are a team, whether they are one now or not.
    TeamPace of(const std::vector<int>& ranks, const Shares& shares) const;
    // Of one that there is now, with the help that its ranks give each other.
    TeamPace now(const layout::Team& team, const Shares& shares) const;

private:
    // Seconds for a second of its team's work, times the team's ranks.
    struct RankPace {
        double products = 0;  // of the team, were it healthy
        double others = 0;    // of this rank
        double share = 1;     // that it has of an even one
    };

    void add(const layout::Team& team, std::size_t number);
    void take_for_granted();
    LayerWork done_by(std::size_t team) const;
    double others_of(const std::vector<int>& ranks, const Shares& shares) const;
    const RankPace& pace(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

    const plan::Observation& observed_;
    const plan::Plan& current_;
    const RunWork& work_;
    const UnevenRules& rules_;
    std::vector<RankPace> ranks_;
};

// What a rank has of an even share: 1.5 is half as much again.
double part_of_even(const Shares& shares, std::size_t rank);

// Of a team's ranks in the first stage that they hold together; even ones where they hold none.
Shares shares_of(const std::vector<int>& ranks, const layout::Layout& layout);

}  // namespace trireme::policy
