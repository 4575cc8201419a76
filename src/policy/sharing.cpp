#include "trireme/policy/sharing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trireme::policy {
namespace {

constexpr double most_given = 0.98;  // of a rank's matmuls: the owner keeps a fraction of each
constexpr double dust = 1e-6;        // of a rank's matmuls: smaller fractions are ignored

double sum(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

// The matmuls that helper ranks may compute in part.
struct Way {
    layout::ProductParts is_helped = {};  // 1 or 0 per matmul
    double work = 0;                      // fraction of all matmul work
    double seconds = 0;                   // upper limit of the time that offloading adds

    bool helps() const { return work > 0; }
    bool helps_all() const {
        return std::ranges::all_of(is_helped, [](double each) { return each > 0; });
    }
};

Way way_of(const layout::ProductParts& is_helped, const HelpCosts& costs, std::size_t ranks) {
    Way way{.is_helped = is_helped};
    const layout::Circle circle{.ranks = std::vector<int>(ranks), .spread = costs.spread};
    for (std::size_t p = 0; p < layout::product_count; ++p) {
        way.work += is_helped[p] * costs.work[p];
        way.seconds += is_helped[p] * (circle.rounds() * costs.round_seconds[p] + costs.whole_seconds[p]);
    }
    return way;
}

// The matmuls attention_in and mlp_in read inputs that all ranks have. Offloading them needs rounds of
// broadcasts and reductions.
constexpr layout::ProductParts every_product{1, 1, 1, 1};
constexpr layout::ProductParts without_rounds{0, 1, 0, 1};

// A team for which work is counted in FLOPs, independent of the rank that does it.
class SlowTeam {
public:
    SlowTeam(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness, double limit,
             Way way)
        : times_(times), slowness_(slowness), limit_(limit), way_(way) {}

    std::size_t size() const { return times_.size(); }
    const Way& way() const { return way_; }
    bool is_slow(std::size_t rank) const { return slowness_[rank] > 1 && times_[rank].whole_products() > 0; }
    double work(std::size_t rank) const { return times_[rank].whole_flops; }

    // Returns the fraction of its matmuls that a slow rank cannot finish within `seconds`.
    double given(std::size_t rank, double seconds) const {
        return is_slow(rank) ? std::max(0.0, 1 - capacity(rank, seconds) / work(rank)) : 0;
    }
    // Returns the part of this fraction that exceeds the skipping limit, so must be offloaded.
    double must_lend(std::size_t rank, double seconds) const {
        return std::max(0.0, given(rank, seconds) - limit_);
    }
    // Returns the work that a rank can do within `seconds` beyond its own. Slightly slow ranks may help slower
    // ones.
    double spare(std::size_t rank, double seconds) const {
        return way_.helps() ? std::max(0.0, capacity(rank, seconds) - work(rank)) : 0;
    }

    bool can_be_done_by(double seconds) const {
        double needed = 0;
        double spared = 0;
        for (std::size_t r = 0; r < size(); ++r) {
            const double lent = must_lend(r, seconds);
            if (given(r, seconds) > most_given || (lent > 0 && !way_.helps_all())) return false;
            needed += lent * work(r);
            spared += spare(r, seconds);
        }
        return needed <= spared;
    }

    // Returns the shortest possible time. With skipping, it is at least the time that the fastest rank needs
    // for all of its own work.
    double shortest() const {
        double fastest = std::numeric_limits<double>::infinity();
        double low = 0;
        double high = 0;
        for (std::size_t r = 0; r < size(); ++r) {
            const double whole = times_[r].whole_products() + times_[r].others + way_.seconds;
            fastest = std::min(fastest, whole);
            high = std::max(high, whole);
            if (!is_slow(r)) low = std::max(low, whole);
        }
        if (limit_ > 0) low = std::max(low, fastest);
        for (int halving = 0; halving < 60; ++halving) {
            const double middle = (low + high) / 2;
            (can_be_done_by(middle) ? high : low) = middle;
        }
        return high;
    }

private:
    double capacity(std::size_t rank, double seconds) const {
        const double rate = times_[rank].whole_products() / work(rank);  // seconds per FLOP
        return rate > 0 ? (seconds - times_[rank].others - way_.seconds) / rate : work(rank);
    }

    const std::vector<plan::RankTimes>& times_;
    const std::vector<double>& slowness_;
    double limit_;
    Way way_;
};

// Returns the ranks sorted by descending size.
std::vector<std::size_t> by_size(const std::vector<double>& sizes) {
    std::vector<std::size_t> ranks(sizes.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    std::ranges::stable_sort(ranks, std::ranges::greater{}, [&](std::size_t rank) { return sizes[rank]; });
    return ranks;
}

// Returns the fraction of each helped matmul that each slow rank offloads: the fraction that it must offload,
// and from the remaining capacity of the helpers as much as it needs, the slowest rank first.
std::vector<double> lent_parts(const SlowTeam& team, const std::vector<double>& slowness, double seconds) {
    std::vector<double> lent;
    double spare = 0;
    for (std::size_t r = 0; r < team.size(); ++r) {
        lent.push_back(team.must_lend(r, seconds));
        spare += team.spare(r, seconds) - lent.back() * team.work(r) * team.way().work;
    }
    if (!team.way().helps()) return lent;
    for (const std::size_t rank : by_size(slowness)) {
        const double work = team.work(rank) * team.way().work;
        if (work == 0) continue;
        const double more =
            std::clamp(team.given(rank, seconds) - lent[rank], 0.0, std::max(0.0, spare / work));
        lent[rank] += more;
        spare -= more * work;
    }
    return lent;
}

// Fills the helpers one after another. If they could do more than is needed, their capacities are scaled down
// evenly.
std::vector<layout::Migration> migrations_of(const SlowTeam& team, const std::vector<double>& lent,
                                             double seconds) {
    std::vector<double> spare;
    double needed = 0;
    for (std::size_t r = 0; r < team.size(); ++r) {
        spare.push_back(team.spare(r, seconds));
        needed += lent[r] * team.work(r) * team.way().work;
    }
    const double all = sum(spare);
    for (double& each : spare) each *= all > 0 ? std::min(1.0, needed / all) : 0;
    const std::vector<std::size_t> helpers = by_size(spare);
    std::vector<layout::Migration> migrations;
    std::size_t helper = 0;
    for (const std::size_t owner : by_size(lent)) {
        const double work = team.work(owner) * team.way().work;
        for (double left = lent[owner]; left > dust && helper < helpers.size();) {
            double& room = spare[helpers[helper]];
            const double part = std::min(left, room / work);
            layout::Migration migration{.from = static_cast<int>(owner),
                                        .to = static_cast<int>(helpers[helper])};
            for (std::size_t p = 0; p < layout::product_count; ++p)
                migration.parts[p] = part * team.way().is_helped[p];
            if (part > dust) migrations.push_back(migration);
            left -= part;
            room -= part * work;
            if (room <= dust * work) ++helper;
        }
    }
    return migrations;
}

// Returns the fraction of each matmul of each rank that helper ranks compute.
std::vector<layout::ProductParts> lent_of(const Sharing& sharing, std::size_t ranks) {
    std::vector<layout::ProductParts> lent(ranks, layout::ProductParts{});
    for (const layout::Migration& each : sharing.migrations) {
        for (std::size_t p = 0; p < layout::product_count; ++p)
            lent[static_cast<std::size_t>(each.from)][p] += each.parts[p];
    }
    return lent;
}

double part_of_work(const layout::ProductParts& parts, const HelpCosts& costs) {
    return std::inner_product(parts.begin(), parts.end(), costs.work.begin(), 0.0);
}

Sharing sharing_by(const SlowTeam& team, const std::vector<double>& slowness, double seconds) {
    const std::vector<double> lent = lent_parts(team, slowness, seconds);
    Sharing sharing{.migrations = migrations_of(team, lent, seconds)};
    for (std::size_t r = 0; r < team.size(); ++r) {
        const double given = team.given(r, seconds);
        const bool is_all_lent = team.way().helps_all() && given <= lent[r] + dust;
        sharing.left_out.push_back(is_all_lent || given <= dust ? 0 : given);
    }
    return sharing;
}

}  // namespace

double all_left_out(const Sharing& sharing, const HelpCosts& costs) {
    double all = 0;
    for (std::size_t r = 0; r < sharing.left_out.size(); ++r)
        all +=
            part_of_work(left_out_beside(sharing.migrations, static_cast<int>(r), sharing.left_out[r]), costs);
    return all;
}

double seconds_of_helping(const std::vector<layout::Migration>& migrations, std::size_t ranks,
                          const HelpCosts& costs) {
    layout::ProductParts is_helped{};
    for (const layout::Migration& each : migrations) {
        for (std::size_t p = 0; p < layout::product_count; ++p)
            is_helped[p] = is_helped[p] > 0 || each.parts[p] > 0 ? 1 : 0;
    }
    return way_of(is_helped, costs, ranks).seconds;
}

double seconds_of_team(const std::vector<plan::RankTimes>& times, const Sharing& sharing,
                       const HelpCosts& costs) {
    const std::vector<layout::ProductParts> lent = lent_of(sharing, times.size());
    std::vector<double> work;
    for (std::size_t r = 0; r < times.size(); ++r) {
        layout::ProductParts given = lent[r];
        for (double& part : given) part = std::max(part, sharing.left_out.empty() ? 0 : sharing.left_out[r]);
        work.push_back(times[r].whole_flops * (1 - part_of_work(given, costs)));
    }
    for (const layout::Migration& each : sharing.migrations)
        work[static_cast<std::size_t>(each.to)] +=
            part_of_work(each.parts, costs) * times[static_cast<std::size_t>(each.from)].whole_flops;
    double most = 0;
    for (std::size_t r = 0; r < times.size(); ++r) {
        const double flops = times[r].whole_flops;
        const double products = flops > 0 ? times[r].whole_products() * work[r] / flops : 0;
        most = std::max(most, products + times[r].others);
    }
    return most + seconds_of_helping(sharing.migrations, times.size(), costs);
}

Sharing best_sharing(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness,
                     const SharingRules& rules) {
    std::vector<SlowTeam> teams;
    for (const layout::ProductParts& products : {layout::ProductParts{}, without_rounds, every_product})
        teams.emplace_back(times, slowness, rules.limit, way_of(products, rules.costs, times.size()));
    double shortest = teams.front().shortest();
    for (const SlowTeam& team : teams) shortest = std::min(shortest, team.shortest());
    std::optional<Sharing> best;
    for (const SlowTeam& team : teams) {
        const double own = team.shortest();
        if (own > shortest * (1 + rules.slack)) continue;
        const Sharing sharing = sharing_by(team, slowness, std::max(own, shortest * (1 + rules.slack)));
        if (!best || all_left_out(sharing, rules.costs) < all_left_out(*best, rules.costs) - dust)
            best = sharing;
    }
    return *best;
}

}  // namespace trireme::policy
