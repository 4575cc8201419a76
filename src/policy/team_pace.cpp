#include "policy/team_pace.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "policy/select_rank_values.hpp"

namespace trireme::policy {
namespace {

double divide_or_zero(double seconds, double work) { return work > 0 ? seconds / work : 0; }

}  // namespace

std::vector<LayerWork> list_layers(const UnevenRules& rules, const layout::Layout& layout) {
    return rules.layers.empty() ? std::vector<LayerWork>(layout.layers) : rules.layers;
}

double compute_relative_share(const Shares& shares, std::size_t rank_index) {
    const auto sum = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
    return static_cast<double>(shares[rank_index] * shares.size()) / static_cast<double>(sum);
}

Shares find_shares(const std::vector<int>& ranks, const layout::Layout& layout) {
    for (const layout::StageLayout& stage : layout.stages) {
        const auto replica = std::ranges::find(stage.replicas, ranks, &layout::ReplicaLayout::ranks);
        if (replica != stage.replicas.end()) return replica->shares;
    }
    return Shares(ranks.size(), 1);
}

TeamPaces::TeamPaces(const plan::Observation& observed, const plan::Plan& current, const LayerRunWork& work,
                     const UnevenRules& rules)
    : observed_(observed), current_(current), work_(work), rules_(rules), ranks_(observed.ranks.size()) {
    if (observed.ranks.empty()) {
        assume_paces();
        return;
    }
    for (std::size_t team = 0; team < current.teams.size(); ++team) set_rank_paces(current.teams[team], team);
    fill_unknown_paces();
}

// Before the first step of a plan, assumes that all kernels of a slow rank take longer alike.
void TeamPaces::assume_paces() {
    for (const double slowness : observed_.slowness)
        ranks_.push_back({.matmuls = 1, .other_kernels = slowness, .share = 1});
    for (const layout::Team& team : current_.teams) {
        const Shares shares = find_shares(team.ranks, current_.layout);
        for (std::size_t r = 0; r < team.ranks.size(); ++r)
            ranks_[static_cast<std::size_t>(team.ranks[r])].share = compute_relative_share(shares, r);
    }
}

// Sets unknown paces to the average of the known ones, for matmuls and for other kernels separately. If no rank
// has a known pace, all paces stay 0.
void TeamPaces::fill_unknown_paces() {
    for (double RankPace::*const field : {&RankPace::matmuls, &RankPace::other_kernels}) {
        double sum = 0;
        double known_count = 0;
        for (const RankPace& rank : ranks_) {
            sum += rank.*field;
            known_count += rank.*field > 0 ? 1 : 0;
        }
        for (RankPace& rank : ranks_) {
            if (rank.*field == 0 && known_count > 0) rank.*field = sum / known_count;
        }
    }
}

// Returns the team's work per step.
LayerWork TeamPaces::compute_team_work(std::size_t team_index) const {
    LayerWork team_work{.matmuls = 0};
    for (const int stage : current_.teams[team_index].stages) {
        const LayerWork& microbatch_work =
            work_.find(current_.layout.stages[static_cast<std::size_t>(stage)].layers);
        const int microbatches = current_.training.shape.count_turns(static_cast<int>(team_index), stage);
        team_work.matmuls += microbatches * microbatch_work.matmuls;
        team_work.other_kernels += microbatches * microbatch_work.other_kernels;
    }
    return team_work;
}

void TeamPaces::set_rank_paces(const layout::Team& team, std::size_t team_index) {
    const LayerWork team_work = compute_team_work(team_index);
    const Shares shares = find_shares(team.ranks, current_.layout);
    const auto size = static_cast<double>(team.ranks.size());
    const std::vector<double> slowness = select_rank_values(team.ranks, observed_.slowness, 1);
    double healthy_seconds = 0;  // seconds in which one healthy rank would execute the team's matmuls
    for (std::size_t r = 0; r < team.ranks.size(); ++r)
        healthy_seconds += observed_.ranks[static_cast<std::size_t>(team.ranks[r])].matmuls / slowness[r];
    for (std::size_t r = 0; r < team.ranks.size(); ++r) {
        const auto rank = static_cast<std::size_t>(team.ranks[r]);
        ranks_[rank] = {
            .matmuls = divide_or_zero(healthy_seconds, team_work.matmuls),
            .other_kernels = size * divide_or_zero(observed_.ranks[rank].others, team_work.other_kernels),
            .share = compute_relative_share(shares, r)};
    }
}

// Predicts RankPace::other_kernels of each rank with these shares, and returns the largest value. In the model,
// shares do not affect the pace of the fastest rank. For every other rank, the difference from the fastest
// rank's pace is proportional to the rank's share.
double TeamPaces::predict_other_kernels(const std::vector<int>& ranks, const Shares& shares) const {
    double min_pace = std::numeric_limits<double>::infinity();
    for (const int rank : ranks) min_pace = std::min(min_pace, pace(rank).other_kernels);
    double max_pace = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const RankPace& rank_pace = pace(ranks[r]);
        max_pace = std::max(max_pace, min_pace + (rank_pace.other_kernels - min_pace) *
                                                     compute_relative_share(shares, r) / rank_pace.share);
    }
    return max_pace;
}

TeamPace TeamPaces::predict_pace(const std::vector<int>& ranks, const Shares& shares) const {
    const auto size = static_cast<double>(ranks.size());
    double mean_pace = 0;  // mean of RankPace::matmuls
    for (const int rank : ranks) mean_pace += pace(rank).matmuls / size;
    const double slowdown =
        compute_slowdown(rules_.widths, shares, select_rank_values(ranks, observed_.slowness, 1));
    return {.matmuls = mean_pace / size * slowdown,
            .other_kernels = predict_other_kernels(ranks, shares) / size};
}

TeamPace TeamPaces::compute_current_pace(const layout::Team& team, const Shares& shares) const {
    const TeamPace pace_without_offload = predict_pace(team.ranks, shares);
    const std::vector<layout::Migration> migrations = find_team_migrations(current_.migrations, team.ranks);
    if (migrations.empty()) return pace_without_offload;
    // The measured busy time includes offloaded work, but not the messages of this work, so the predicted time
    // of these messages is added. Both fields of the pace are scaled so that the team's work takes the busy
    // time plus the time of the messages.
    double max_busy_seconds = 0;
    for (const int rank : team.ranks)
        max_busy_seconds = std::max(max_busy_seconds, observed_.ranks[static_cast<std::size_t>(rank)].busy());
    const double seconds_with_offload =
        max_busy_seconds + predict_offload_seconds(migrations, team.ranks.size(), rules_.costs);
    const double seconds_without_offload = pace_without_offload.seconds(
        compute_team_work(static_cast<std::size_t>(current_.find_team(team.ranks.front()))));
    const double time_ratio = seconds_without_offload > 0 ? seconds_with_offload / seconds_without_offload : 1;
    return {.matmuls = pace_without_offload.matmuls * time_ratio,
            .other_kernels = pace_without_offload.other_kernels * time_ratio};
}

}  // namespace trireme::policy
