#include "policy/team_pace.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "policy/of_ranks.hpp"

namespace trireme::policy {
namespace {

double ratio(double seconds, double work) { return work > 0 ? seconds / work : 0; }

}  // namespace

double part_of_even(const Shares& shares, std::size_t rank) {
    const auto sum = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
    return static_cast<double>(shares[rank] * shares.size()) / static_cast<double>(sum);
}

Shares shares_of(const std::vector<int>& ranks, const layout::Layout& layout) {
    for (const layout::StageLayout& stage : layout.stages) {
        const auto replica = std::ranges::find(stage.replicas, ranks, &layout::ReplicaLayout::ranks);
        if (replica != stage.replicas.end()) return replica->shares;
    }
    return Shares(ranks.size(), 1);
}

TeamPaces::TeamPaces(const plan::Observation& observed, const plan::Plan& current, const RunWork& work,
                     const UnevenRules& rules)
    : observed_(observed), current_(current), work_(work), rules_(rules), ranks_(observed.ranks.size()) {
    for (std::size_t team = 0; team < current.teams.size(); ++team) add(current.teams[team], team);
    take_for_granted();
}

// Ranks without observed work get the average of the others.
void TeamPaces::take_for_granted() {
    for (double RankPace::*const field : {&RankPace::products, &RankPace::others}) {
        double sum = 0;
        double known = 0;
        for (const RankPace& rank : ranks_) {
            sum += rank.*field;
            known += rank.*field > 0 ? 1 : 0;
        }
        for (RankPace& rank : ranks_) {
            if (rank.*field == 0 && known > 0) rank.*field = sum / known;
        }
    }
}

// Returns the team's work per step.
LayerWork TeamPaces::done_by(std::size_t team) const {
    LayerWork all{.products = 0};
    for (const int stage : current_.teams[team].stages) {
        const LayerWork& each = work_.of(current_.layout.stages[static_cast<std::size_t>(stage)].layers);
        const int turns = current_.training.shape.turns_of(static_cast<int>(team), stage);
        all.products += turns * each.products;
        all.others += turns * each.others;
    }
    return all;
}

void TeamPaces::add(const layout::Team& team, std::size_t number) {
    const LayerWork done = done_by(number);
    const Shares shares = shares_of(team.ranks, current_.layout);
    const auto size = static_cast<double>(team.ranks.size());
    const std::vector<double> slowness = of_ranks(team.ranks, observed_.slowness, 1);
    double products = 0;  // seconds of one healthy device for the team's matmuls
    for (std::size_t r = 0; r < team.ranks.size(); ++r)
        products += observed_.ranks[static_cast<std::size_t>(team.ranks[r])].products / slowness[r];
    for (std::size_t r = 0; r < team.ranks.size(); ++r) {
        const auto rank = static_cast<std::size_t>(team.ranks[r]);
        ranks_[rank] = {.products = ratio(products, done.products),
                        .others = size * ratio(observed_.ranks[rank].others, done.others),
                        .share = part_of_even(shares, r)};
    }
}

// All ranks share the time of the fastest rank. The excess of a rank over this time is proportional to its
// share.
double TeamPaces::others_of(const std::vector<int>& ranks, const Shares& shares) const {
    double least = std::numeric_limits<double>::infinity();
    for (const int rank : ranks) least = std::min(least, pace(rank).others);
    double most = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const RankPace& own = pace(ranks[r]);
        most = std::max(most, least + (own.others - least) * part_of_even(shares, r) / own.share);
    }
    return most;
}

TeamPace TeamPaces::of(const std::vector<int>& ranks, const Shares& shares) const {
    const auto size = static_cast<double>(ranks.size());
    double products = 0;
    for (const int rank : ranks) products += pace(rank).products / size;
    const double stretch = stretch_of(rules_.widths, shares, of_ranks(ranks, observed_.slowness, 1));
    return {.products = products / size * stretch, .others = others_of(ranks, shares) / size};
}

TeamPace TeamPaces::now(const layout::Team& team, const Shares& shares) const {
    const TeamPace alone = of(team.ranks, shares);
    const std::vector<layout::Migration> help = within(current_.migrations, team.ranks);
    if (help.empty()) return alone;
    double busy = 0;
    for (const int rank : team.ranks)
        busy = std::max(busy, observed_.ranks[static_cast<std::size_t>(rank)].busy());
    busy += seconds_of_helping(help, team.ranks.size(), rules_.costs);
    const double by_itself =
        alone.seconds(done_by(static_cast<std::size_t>(current_.team_of(team.ranks.front()))));
    const double longer = by_itself > 0 ? busy / by_itself : 1;
    return {.products = alone.products * longer, .others = alone.others * longer};
}

}  // namespace trireme::policy
