#include "policy/team_pace.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "policy/select_rank_values.hpp"

namespace trireme::policy {
namespace {

double divide_or_zero(double seconds, double work) { return work > 0 ? seconds / work : 0; }

}  // namespace

double compute_relative_share(const Shares& shares, std::size_t rank) {
    const auto sum = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
    return static_cast<double>(shares[rank] * shares.size()) / static_cast<double>(sum);
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
    for (std::size_t team = 0; team < current.teams.size(); ++team) add(current.teams[team], team);
    fill_unknown_paces();
}

// Ranks without observed work get the average pace of the other ranks.
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
LayerWork TeamPaces::compute_team_work(std::size_t team) const {
    LayerWork team_work{.matmuls = 0};
    for (const int stage : current_.teams[team].stages) {
        const LayerWork& each = work_.find(current_.layout.stages[static_cast<std::size_t>(stage)].layers);
        const int turns = current_.training.shape.count_turns(static_cast<int>(team), stage);
        team_work.matmuls += turns * each.matmuls;
        team_work.other_kernels += turns * each.other_kernels;
    }
    return team_work;
}

void TeamPaces::add(const layout::Team& team, std::size_t team_index) {
    const LayerWork team_work = compute_team_work(team_index);
    const Shares shares = find_shares(team.ranks, current_.layout);
    const auto size = static_cast<double>(team.ranks.size());
    const std::vector<double> slowness = select_rank_values(team.ranks, observed_.slowness, 1);
    double matmuls = 0;  // seconds of one healthy device for the team's matmuls
    for (std::size_t r = 0; r < team.ranks.size(); ++r)
        matmuls += observed_.ranks[static_cast<std::size_t>(team.ranks[r])].matmuls / slowness[r];
    for (std::size_t r = 0; r < team.ranks.size(); ++r) {
        const auto rank = static_cast<std::size_t>(team.ranks[r]);
        ranks_[rank] = {
            .matmuls = divide_or_zero(matmuls, team_work.matmuls),
            .other_kernels = size * divide_or_zero(observed_.ranks[rank].others, team_work.other_kernels),
            .share = compute_relative_share(shares, r)};
    }
}

// Returns the seconds of the slowest rank in other kernels, per second of work and multiplied by the number of
// ranks. The time of the fastest rank does not depend on shares. What another rank needs in addition is
// proportional to its share.
double TeamPaces::predict_other_kernels(const std::vector<int>& ranks, const Shares& shares) const {
    double min_seconds = std::numeric_limits<double>::infinity();
    for (const int rank : ranks) min_seconds = std::min(min_seconds, pace(rank).other_kernels);
    double max_seconds = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const RankPace& rank_pace = pace(ranks[r]);
        max_seconds =
            std::max(max_seconds, min_seconds + (rank_pace.other_kernels - min_seconds) *
                                                    compute_relative_share(shares, r) / rank_pace.share);
    }
    return max_seconds;
}

TeamPace TeamPaces::predict_pace(const std::vector<int>& ranks, const Shares& shares) const {
    const auto size = static_cast<double>(ranks.size());
    double matmuls = 0;
    for (const int rank : ranks) matmuls += pace(rank).matmuls / size;
    const double slowdown =
        compute_slowdown(rules_.widths, shares, select_rank_values(ranks, observed_.slowness, 1));
    return {.matmuls = matmuls / size * slowdown, .other_kernels = predict_other_kernels(ranks, shares) / size};
}

TeamPace TeamPaces::compute_current_pace(const layout::Team& team, const Shares& shares) const {
    const TeamPace unaided_pace = predict_pace(team.ranks, shares);
    const std::vector<layout::Migration> migrations = find_team_migrations(current_.migrations, team.ranks);
    if (migrations.empty()) return unaided_pace;
    // The measured busy time includes offloaded work, but not its messages, whose predicted time is added. The
    // paces of matmuls and of other kernels are scaled to the sum.
    double max_busy_seconds = 0;
    for (const int rank : team.ranks)
        max_busy_seconds = std::max(max_busy_seconds, observed_.ranks[static_cast<std::size_t>(rank)].busy());
    max_busy_seconds += predict_offload_seconds(migrations, team.ranks.size(), rules_.costs);
    const double unaided_seconds = unaided_pace.seconds(
        compute_team_work(static_cast<std::size_t>(current_.find_team(team.ranks.front()))));
    const double time_ratio = unaided_seconds > 0 ? max_busy_seconds / unaided_seconds : 1;
    return {.matmuls = unaided_pace.matmuls * time_ratio,
            .other_kernels = unaided_pace.other_kernels * time_ratio};
}

}  // namespace trireme::policy
