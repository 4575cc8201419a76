#include "trireme/policy/uneven.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "policy/distribute_layers.hpp"
#include "policy/gather_slow_ranks.hpp"
#include "policy/select_rank_values.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/policy/describe_slowness.hpp"

namespace trireme::policy {
namespace {

// Divides each rank's healthy share by its slowness. Returns the smallest integers in approximately the ratio
// of the quotients. For example, the shares 1 and 1 with the slowness 1 and 8 become 8 and 1.
Shares scale_shares_by_speed(const Shares& healthy_shares, const std::vector<double>& slowness) {
    if (std::ranges::all_of(slowness, [](double factor) { return factor == 1; })) return healthy_shares;
    constexpr double max_share = 1000;
    std::vector<double> speeds;
    for (std::size_t r = 0; r < healthy_shares.size(); ++r)
        speeds.push_back(static_cast<double>(healthy_shares[r]) / slowness[r]);
    const double max_speed = *std::ranges::max_element(speeds);
    Shares shares;
    std::size_t divisor = 0;
    for (const double speed : speeds) {
        shares.push_back(static_cast<std::size_t>(std::max(1L, std::lround(max_share * speed / max_speed))));
        divisor = std::gcd(divisor, shares.back());
    }
    for (std::size_t& share : shares) share /= divisor;
    return shares;
}

// Searches for layouts with short steps, for one decision.
class LayoutSearch {
public:
    LayoutSearch(const UnevenRules& rules, const plan::Observation& observed, const plan::Plan& current,
                 const layout::Layout& healthy_layout)
        : rules_(rules),
          observed_(observed),
          current_(current),
          healthy_layout_(healthy_layout),
          work_(list_layers(rules, current.layout)),
          paces_(observed, current, work_, rules) {}

    // Returns the healthy layout first. Later layouts differ more from it.
    std::vector<layout::Layout> list_layouts() const {
        std::vector<layout::Layout> layouts{healthy_layout_};
        if (is_any_rank_slow(observed_)) std::ranges::move(make_candidates(), std::back_inserter(layouts));
        return layouts;
    }

private:
    // Returns the candidates. The first one changes only shares.
    std::vector<layout::Layout> make_candidates() const {
        const TeamPlacement placement = find_placement(healthy_layout_);
        const bool has_one_stage_per_team = have_teams_one_stage(placement);
        const bool may_move_layers = rules_.may_move_layers && has_one_stage_per_team && placement.size() > 1;
        const bool may_change_turns = rules_.may_change_turns && has_one_stage_per_team;
        std::vector<layout::Layout> layouts{make_layout(placement, false, false)};
        if (!may_move_layers && !may_change_turns) return layouts;
        std::vector<TeamPlacement> placements = gather_slow_ranks(placement, observed_.slowness, rules_.nodes);
        placements.insert(placements.begin(), placement);
        for (const TeamPlacement& each : placements) {
            if (may_change_turns) layouts.push_back(make_layout(each, false, true));
            if (may_move_layers) layouts.push_back(make_layout(each, true, false));
            if (may_move_layers && may_change_turns) layouts.push_back(make_layout(each, true, true));
        }
        return layouts;
    }

    // Returns healthy_layout_ with the ranks of `placement`, and with each rank's share divided by its
    // slowness. Distributes layers and turns anew as far as the two flags permit.
    layout::Layout make_layout(const TeamPlacement& placement, bool may_move_layers,
                               bool may_change_turns) const {
        layout::Layout layout = healthy_layout_;
        for (std::size_t s = 0; s < placement.size(); ++s) {
            for (std::size_t r = 0; r < placement[s].size(); ++r) {
                layout::ReplicaLayout& replica = layout.stages[s].replicas[r];
                replica.ranks = placement[s][r];
                replica.shares =
                    scale_shares_by_speed(find_shares(replica.ranks, healthy_layout_),
                                          select_rank_values(replica.ranks, observed_.slowness, 1));
            }
        }
        distribute_layers_and_turns(layout, compute_paces(layout), work_,
                                    {.microbatches = microbatches(),
                                     .may_move_layers = may_move_layers,
                                     .may_change_turns = may_change_turns,
                                     .in_flight = find_max_in_flight(),
                                     .memory_limit = rules_.memory_limit});
        return layout;
    }

    std::size_t microbatches() const { return static_cast<std::size_t>(current_.microbatches()); }

    // Returns, per stage, the largest number of in-flight micro-batches of any team under the current plan.
    std::vector<std::size_t> find_max_in_flight() const {
        std::vector<std::size_t> max_counts(current_.layout.stages.size(), 1);
        for (const std::vector<int>& team_peaks : current_.training.proof.peak_activations_of_stage) {
            for (std::size_t s = 0; s < team_peaks.size(); ++s)
                max_counts[s] = std::max(max_counts[s], static_cast<std::size_t>(team_peaks[s]));
        }
        return max_counts;
    }

    // Returns the paces of the teams of `layout` without offloaded work.
    StagePaces compute_paces(const layout::Layout& layout) const {
        StagePaces paces;
        for (const layout::StageLayout& stage : layout.stages) {
            auto& replicas = paces.emplace_back();
            for (const layout::ReplicaLayout& replica : stage.replicas)
                replicas.push_back(paces_.predict_pace(replica.ranks, replica.shares));
        }
        return paces;
    }

    const UnevenRules& rules_;
    const plan::Observation& observed_;
    const plan::Plan& current_;
    const layout::Layout& healthy_layout_;  // for equally fast ranks
    LayerRunWork work_;
    TeamPaces paces_;
};

}  // namespace

double compute_slowdown(const std::vector<SharedWidth>& widths, const Shares& shares,
                        const std::vector<double>& slowness) {
    double slowdown = 0;
    for (const SharedWidth& width : widths) {
        const std::vector<layout::Range> cut = layout::cut_by_weights(width.units, shares, "units");
        double max_time = 0;
        for (std::size_t r = 0; r < cut.size(); ++r) {
            max_time = std::max(max_time, slowness[r] * static_cast<double>(cut[r].count));
        }
        slowdown += width.work * max_time * static_cast<double>(cut.size()) / static_cast<double>(width.units);
    }
    return slowdown;
}

layout::Layout make_even_layout(layout::Layout layout) {
    for (layout::StageLayout& stage : layout.stages) {
        for (layout::ReplicaLayout& replica : stage.replicas) {
            std::ranges::fill(replica.shares, 1);
            replica.turns = 1;
        }
    }
    return layout;
}

Proposer make_uneven_proposer(const UnevenRules& rules, const plan::Plan& current) {
    return [&](const plan::Observation& observed, const Candidate& candidate) {
        std::vector<Candidate> candidates;
        for (layout::Layout& layout : LayoutSearch(rules, observed, current, candidate.layout).list_layouts()) {
            Candidate& next = candidates.emplace_back(candidate);
            next.layout = std::move(layout);
            next.causes.push_back({.proposer = "uneven", .reason = describe_slowness(observed)});
        }
        return candidates;
    };
}

}  // namespace trireme::policy
