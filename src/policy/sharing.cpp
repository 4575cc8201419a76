#include "trireme/policy/sharing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/slowness_words.hpp"

namespace trireme {
namespace {

constexpr double most_lent = 0.98;  // of a rank's products: something of each is left
constexpr double dust = 1e-6;       // of a rank's products

double sum(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

// A team whose work is counted in a healthy rank's arithmetic, whoever does it.
class SlowTeam {
public:
    SlowTeam(const std::vector<RankTimes>& times, const std::vector<double>& slowness, double limit)
        : times_(times), slowness_(slowness), limit_(limit) {}

    std::size_t size() const { return times_.size(); }
    bool is_slow(std::size_t rank) const { return slowness_[rank] > 1 && times_[rank].whole_products() > 0; }
    double work(std::size_t rank) const { return times_[rank].whole_flops; }

    // What a slow rank cannot do until then, and what another could do beside its own.
    double need(std::size_t rank, double seconds) const {
        return is_slow(rank) ? std::max(0.0, work(rank) - capacity(rank, seconds)) : 0;
    }
    double spare(std::size_t rank, double seconds) const {
        return is_slow(rank) ? 0 : std::max(0.0, capacity(rank, seconds) - work(rank));
    }
    // Of what a slow rank cannot do, what it may not leave out.
    double must_lend(std::size_t rank, double seconds) const {
        return std::max(0.0, need(rank, seconds) - limit_ * work(rank));
    }

    bool can_be_done_by(double seconds) const {
        double needed = 0;
        double spared = 0;
        for (std::size_t r = 0; r < size(); ++r) {
            const double lent = must_lend(r, seconds);
            if (lent > most_lent * work(r)) return false;
            needed += lent;
            spared += spare(r, seconds);
        }
        return needed <= spared;
    }

    double shortest() const {
        double low = 0;
        double high = 0;
        for (std::size_t r = 0; r < size(); ++r) {
            const double whole = times_[r].whole_products() + times_[r].others;
            high = std::max(high, whole);
            if (!is_slow(r)) low = std::max(low, whole);
        }
        for (int halving = 0; halving < 60; ++halving) {
            const double middle = (low + high) / 2;
            (can_be_done_by(middle) ? high : low) = middle;
        }
        return high;
    }

private:
    double capacity(std::size_t rank, double seconds) const {
        const double rate = times_[rank].whole_products() / work(rank);  // seconds for one
        return rate > 0 ? (seconds - times_[rank].others) / rate : work(rank);
    }

    const std::vector<RankTimes>& times_;
    const std::vector<double>& slowness_;
    double limit_;
};

// The ranks, those with the most of something first.
std::vector<std::size_t> by_size(const std::vector<double>& sizes) {
    std::vector<std::size_t> ranks(sizes.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    std::ranges::stable_sort(ranks, std::ranges::greater{}, [&](std::size_t rank) { return sizes[rank]; });
    return ranks;
}

// What each slow rank lends: what it must, and of what others can do beside that the slowest one as much as it
// needs, then the next.
std::vector<double> lent_work(const SlowTeam& team, const std::vector<double>& slowness, double seconds) {
    std::vector<double> lent;
    double spare = 0;
    for (std::size_t r = 0; r < team.size(); ++r) {
        lent.push_back(team.must_lend(r, seconds));
        spare += team.spare(r, seconds) - lent.back();
    }
    for (const std::size_t rank : by_size(slowness)) {
        const double most = std::min(team.need(rank, seconds), most_lent * team.work(rank));
        const double more = std::clamp(most - lent[rank], 0.0, std::max(0.0, spare));
        lent[rank] += more;
        spare -= more;
    }
    return lent;
}

// One helper after the other is given as much as it can do.
std::vector<Migration> migrations_of(const SlowTeam& team, const std::vector<double>& lent, double seconds) {
    std::vector<double> spare;
    for (std::size_t r = 0; r < team.size(); ++r) spare.push_back(team.spare(r, seconds));
    const std::vector<std::size_t> helpers = by_size(spare);
    std::vector<Migration> migrations;
    std::size_t helper = 0;
    for (const std::size_t owner : by_size(lent)) {
        for (double left = lent[owner]; left > dust * team.work(owner) && helper < helpers.size();) {
            double& room = spare[helpers[helper]];
            const double given = std::min(left, room);
            Migration migration{.from = static_cast<int>(owner), .to = static_cast<int>(helpers[helper])};
            migration.parts.fill(given / team.work(owner));
            if (given > dust * team.work(owner)) migrations.push_back(migration);
            left -= given;
            room -= given;
            if (room <= dust * team.work(owner)) ++helper;
        }
    }
    return migrations;
}

// Of a team's own.
std::vector<double> of_ranks(const std::vector<int>& ranks, const std::vector<double>& all, double otherwise) {
    std::vector<double> own;
    for (const int rank : ranks) own.push_back(all.empty() ? otherwise : all[static_cast<std::size_t>(rank)]);
    return own;
}

class SharedProducts {
public:
    explicit SharedProducts(SharingRules rules) : rules_(std::move(rules)) {}

    std::optional<Decision> decide(const Observation& observed, const Plan& current) const {
        if (observed.step % rules_.every != 0 || observed.ranks.empty()) return std::nullopt;
        Decision decision{.step = observed.step, .layout = current.layout, .policy = rules_.policy};
        decision.left_out.assign(observed.ranks.size(), 0);
        double now = 0;
        double then = 0;
        for (const Team& team : current.teams) {
            std::vector<RankTimes> times;
            for (const int rank : team.ranks) times.push_back(observed.ranks[static_cast<std::size_t>(rank)]);
            const Sharing before{within(current.migrations, team.ranks),
                                 of_ranks(team.ranks, current.left_out, 0)};
            const Sharing next = shortest_sharing(times, of_ranks(team.ranks, observed.slowness, 1), rules_);
            now = std::max(now, seconds_of_team(times, before));
            then = std::max(then, seconds_of_team(times, next));
            add(next, team.ranks, decision);
        }
        if (!is_worth(decision, current, now, then)) return std::nullopt;
        if (sum(decision.left_out) == 0) decision.left_out.clear();
        decision.reason = words_of_slowness(observed);
        decision.terms = {{gain_term, std::max(0.0, now - then)}, {"step_s", observed.step_seconds}};
        return decision;
    }

private:
    // With the numbers that ranks have in the job.
    static void add(const Sharing& sharing, const std::vector<int>& ranks, Decision& decision) {
        const auto number = [&](int place) { return ranks[static_cast<std::size_t>(place)]; };
        for (const Migration& each : sharing.migrations)
            decision.migrations.push_back({number(each.from), number(each.to), each.parts});
        for (std::size_t r = 0; r < ranks.size(); ++r)
            decision.left_out[static_cast<std::size_t>(ranks[r])] = sharing.left_out[r];
    }

    // Once nobody is slow any more, all is as it was at once.
    bool is_worth(const Decision& next, const Plan& current, double now, double then) const {
        const bool is_nothing = next.migrations.empty() && sum(next.left_out) == 0;
        const bool was_nothing = current.migrations.empty() && sum(current.left_out) == 0;
        if (is_nothing != was_nothing) return true;
        if (now - then > rules_.least_gain * now) return true;
        return sum(current.left_out) - sum(next.left_out) > rules_.least_change;
    }

    SharingRules rules_;
};

}  // namespace

double seconds_of_team(const std::vector<RankTimes>& times, const Sharing& sharing) {
    std::vector<double> work;
    for (std::size_t r = 0; r < times.size(); ++r)
        work.push_back(times[r].whole_flops * (1 - (sharing.left_out.empty() ? 0 : sharing.left_out[r])));
    for (const Migration& each : sharing.migrations) {
        const auto from = static_cast<std::size_t>(each.from);
        const double part = std::accumulate(each.parts.begin(), each.parts.end(), 0.0) / product_count;
        work[from] -= part * times[from].whole_flops;
        work[static_cast<std::size_t>(each.to)] += part * times[from].whole_flops;
    }
    double most = 0;
    for (std::size_t r = 0; r < times.size(); ++r) {
        const double flops = times[r].whole_flops;
        const double products = flops > 0 ? times[r].whole_products() * work[r] / flops : 0;
        most = std::max(most, products + times[r].others);
    }
    return most;
}

Sharing shortest_sharing(const std::vector<RankTimes>& times, const std::vector<double>& slowness,
                         const SharingRules& rules) {
    const SlowTeam team(times, slowness, rules.limit);
    const double seconds = team.shortest() * (1 + rules.slack);
    const std::vector<double> lent = lent_work(team, slowness, seconds);
    Sharing sharing{.migrations = migrations_of(team, lent, seconds)};
    for (std::size_t r = 0; r < team.size(); ++r) {
        const double left = team.need(r, seconds) - lent[r];
        sharing.left_out.push_back(left > dust * team.work(r) ? std::min(left / team.work(r), rules.limit) : 0);
    }
    return sharing;
}

Policy shared_products(SharingRules rules) {
    return [shared = SharedProducts(std::move(rules))](const Observation& observed, const Plan& current) {
        return shared.decide(observed, current);
    };
}

}  // namespace trireme
