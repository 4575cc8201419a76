// Predicts the paces of teams (seconds per unit of work) from the observed times of ranks.
#pragma once

#include <vector>

#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/uneven.hpp"

namespace trireme::policy {

using Shares = std::vector<std::size_t>;  // per rank of a team: see ReplicaLayout

// Seconds that a team takes per second of a LayerWork.
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

    // Returns the pace that a team of these ranks would have without offloaded work. `shares` has one element
    // per rank. The current plan need not have such a team.
    TeamPace predict_pace(const std::vector<int>& ranks, const Shares& shares) const;
    // Returns the pace of a team of the current plan, including the effect of the plan's offloaded work.
    TeamPace compute_current_pace(const layout::Team& team, const Shares& shares) const;

private:
    // The pace of a rank in its current team: the seconds that the rank takes per second of its team's work,
    // multiplied by the number of ranks in the team. So paces do not depend on team sizes. A pace of 0 means
    // unknown.
    struct RankPace {
        double matmuls = 0;        // equal on all ranks of a team: their mean, as if all of them were healthy
        double other_kernels = 0;  // of this rank alone
        double share = 1;          // the rank's share relative to an even share
    };

    void assume_paces();
    void set_rank_paces(const layout::Team& team, std::size_t team_index);
    void fill_unknown_paces();
    LayerWork compute_team_work(std::size_t team_index) const;
    double predict_other_kernels(const std::vector<int>& ranks, const Shares& shares) const;
    const RankPace& pace(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

    const plan::Observation& observed_;
    const plan::Plan& current_;
    const LayerRunWork& work_;
    const UnevenRules& rules_;
    std::vector<RankPace> ranks_;
};

// Returns the work of each layer by the rules. Without rules, all layers have equal work.
std::vector<LayerWork> list_layers(const UnevenRules& rules, const layout::Layout& layout);

// Returns a rank's share relative to an even share: 1.5 if its share is 1.5 times an even one. `rank_index` is
// the rank's index in its team.
double compute_relative_share(const Shares& shares, std::size_t rank_index);

// Returns the shares of the team with these ranks, in this order. If the team has several stages, returns its
// shares in the first of them. If `layout` has no such team, returns even shares.
Shares find_shares(const std::vector<int>& ranks, const layout::Layout& layout);

}  // namespace trireme::policy
