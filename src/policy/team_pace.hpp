// The paces of existing and possible teams, derived from the observed times of their ranks.
#pragma once

#include <vector>

#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/uneven.hpp"

namespace trireme::policy {

using Shares = std::vector<std::size_t>;

// Seconds that a team takes per second of work (see LayerWork).
struct TeamPace {
    double matmuls = 0;
    double other_kernels = 0;

    double seconds(const LayerWork& work) const {
        return matmuls * work.matmuls + other_kernels * work.other_kernels;
    }
};

class TeamPaces {
public:
    // All arguments must outlive this object.
    TeamPaces(const plan::Observation& observed, const plan::Plan& current, const LayerRunWork& work,
              const UnevenRules& rules);

    // Returns the pace of a team of these ranks without offloaded work. The team need not exist.
    TeamPace predict_pace(const std::vector<int>& ranks, const Shares& shares) const;
    // Returns the pace of a current team, including the effect of offloaded work.
    TeamPace compute_current_pace(const layout::Team& team, const Shares& shares) const;

private:
    // Seconds that a rank takes per second of its team's work, multiplied by the number of ranks in the team.
    struct RankPace {
        double matmuls = 0;        // as if all ranks were healthy; therefore equal for all ranks of a team
        double other_kernels = 0;  // of this rank
        double share = 1;          // of the rank, relative to an even share
    };

    void add(const layout::Team& team, std::size_t team_index);
    void fill_unknown_paces();
    LayerWork compute_team_work(std::size_t team) const;
    double predict_other_kernels(const std::vector<int>& ranks, const Shares& shares) const;
    const RankPace& pace(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

    const plan::Observation& observed_;
    const plan::Plan& current_;
    const LayerRunWork& work_;
    const UnevenRules& rules_;
    std::vector<RankPace> ranks_;
};

// Returns a rank's share relative to an even share: 1.5 if it has one and a half times as much.
double compute_relative_share(const Shares& shares, std::size_t rank);

// Returns the shares of the team with these ranks in its first stage, or even shares if `layout` has no such
// team.
Shares find_shares(const std::vector<int>& ranks, const layout::Layout& layout);

}  // namespace trireme::policy
