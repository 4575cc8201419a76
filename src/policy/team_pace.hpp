// Speed of existing and possible teams, derived from the observed times of their ranks.
#pragma once

#include <vector>

#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/uneven.hpp"

namespace trireme::policy {

using Shares = std::vector<std::size_t>;

// Seconds per second of work.
struct TeamPace {
    double products = 0;
    double others = 0;

    double seconds(const LayerWork& work) const { return products * work.products + others * work.others; }
};

class TeamPaces {
public:
    // All arguments must outlive this object.
    TeamPaces(const plan::Observation& observed, const plan::Plan& current, const RunWork& work,
              const UnevenRules& rules);

    // Returns the pace of a team of these ranks, which need not exist.
    TeamPace of(const std::vector<int>& ranks, const Shares& shares) const;
    // Returns the pace of a current team, including the effect of offloaded work.
    TeamPace now(const layout::Team& team, const Shares& shares) const;

private:
    // Seconds per second of the team's work, multiplied by the number of ranks in the team.
    struct RankPace {
        double products = 0;  // of the team if all its ranks were healthy
        double others = 0;    // of this rank
        double share = 1;     // relative to an even share
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

// Returns a rank's share relative to an even share: 1.5 is half as much again.
double part_of_even(const Shares& shares, std::size_t rank);

// Returns a team's shares in its first stage, or even shares if no stage has this team.
Shares shares_of(const std::vector<int>& ranks, const layout::Layout& layout);

}  // namespace trireme::policy
