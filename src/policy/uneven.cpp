#include "trireme/policy/uneven.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/describe_slowness.hpp"
#include "policy/distribute_layers.hpp"
#include "policy/gather_slow_ranks.hpp"
#include "policy/select_rank_values.hpp"
#include "policy/step_seconds.hpp"
#include "policy/team_pace.hpp"
#include "trireme/layout/best_cut.hpp"
#include "trireme/layout/shares.hpp"

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

bool has_no_slow_rank(const plan::Observation& observed) {
    return std::ranges::all_of(observed.slowness, [](double factor) { return factor == 1; });
}

// Returns the layout with even shares for all ranks and equal turns for all replicas.
layout::Layout make_even_layout(layout::Layout layout) {
    for (layout::StageLayout& stage : layout.stages) {
        for (layout::ReplicaLayout& replica : stage.replicas) {
            std::ranges::fill(replica.shares, 1);
            replica.turns = 1;
        }
    }
    return layout;
}

std::size_t count_layers(const UnevenRules& rules, const plan::Plan& plan) {
    return rules.layers.empty() ? plan.layout.layers : rules.layers.size();
}

// Searches for the layout with the shortest step, for one decision.
class LayoutSearch {
public:
    LayoutSearch(const UnevenRules& rules, const plan::Observation& observed, const plan::Plan& current)
        : rules_(rules),
          observed_(observed),
          current_(current),
          healthy_layout_(rules.healthy_layout.stages.empty() ? make_even_layout(current.layout)
                                                              : rules.healthy_layout),
          work_(rules.layers.empty() ? std::vector<LayerWork>(count_layers(rules, current)) : rules.layers),
          paces_(observed, current, work_, rules) {}

    // Returns the predicted seconds of a step of the current plan, including the effect of its offloaded work.
    double predict_current_seconds() const {
        StagePaces paces;
        for (const layout::StageLayout& stage : current_.layout.stages) {
            auto& replicas = paces.emplace_back();
            for (const layout::ReplicaLayout& replica : stage.replicas) {
                const auto team = static_cast<std::size_t>(current_.find_team(replica.ranks.front()));
                replicas.push_back(paces_.compute_current_pace(current_.teams[team], replica.shares));
            }
        }
        return predict_seconds(current_.layout, paces);
    }

    // Returns the layout with the shortest step, and the predicted seconds of this step. Later candidates
    // differ more from the healthy layout. So a candidate replaces an earlier one only if it is faster by more
    // than the measuring error.
    std::pair<layout::Layout, double> find_best() const {
        constexpr double max_time_ratio = 0.99;
        std::pair<layout::Layout, double> best{healthy_layout_, predict_layout_seconds(healthy_layout_)};
        if (has_no_slow_rank(observed_)) return best;
        for (layout::Layout& layout : make_candidates()) {
            const double seconds = predict_layout_seconds(layout);
            if (seconds < max_time_ratio * best.second) best = {std::move(layout), seconds};
        }
        return best;
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

    double predict_seconds(const layout::Layout& layout, const StagePaces& paces) const {
        return predict_step_seconds(layout, paces, work_, current_);
    }
    double predict_layout_seconds(const layout::Layout& layout) const {
        return predict_seconds(layout, compute_paces(layout));
    }

    const UnevenRules& rules_;
    const plan::Observation& observed_;
    const plan::Plan& current_;
    layout::Layout healthy_layout_;
    LayerRunWork work_;
    TeamPaces paces_;
};

std::optional<plan::Decision> decide(const UnevenRules& rules, const plan::Observation& observed,
                                     const plan::Plan& current) {
    if (observed.step % rules.period != 0 || observed.ranks.empty()) return std::nullopt;
    if (has_no_slow_rank(observed) && current.layout == rules.healthy_layout) return std::nullopt;
    const LayoutSearch search(rules, observed, current);
    auto [layout, seconds] = search.find_best();
    if (layout == current.layout || seconds == layout::infinite_cost) return std::nullopt;
    const double gain = search.predict_current_seconds() - seconds;
    const double min_gain = has_no_slow_rank(observed) ? rules.min_return_gain : rules.min_gain;
    if (gain <= min_gain * observed.step_seconds) return std::nullopt;
    return plan::Decision{.step = observed.step,
                          .layout = std::move(layout),
                          .policy = "uneven",
                          .reason = describe_slowness(observed),
                          .terms = make_gain_terms(observed, gain)};
}

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

Policy make_uneven_policy(UnevenRules rules) {
    return [rules = std::move(rules)](const plan::Observation& observed, const plan::Plan& current) {
        return decide(rules, observed, current);
    };
}

}  // namespace trireme::policy
