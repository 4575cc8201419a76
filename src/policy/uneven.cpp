#include "trireme/policy/uneven.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "policy/slowness_words.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme {
namespace {

using Shares = std::vector<std::size_t>;

std::vector<double> slowness_of(const std::vector<int>& ranks, const Observation& observed) {
    std::vector<double> slowness;
    for (const int rank : ranks) slowness.push_back(observed.slowness[static_cast<std::size_t>(rank)]);
    return slowness;
}

// In numbers as small as can be: 8, 1.
Shares in_proportion_to_speed(const Shares& healthy, const std::vector<double>& slowness) {
    if (std::ranges::all_of(slowness, [](double factor) { return factor == 1; })) return healthy;
    constexpr double of_the_largest = 1000;
    std::vector<double> speeds;
    for (std::size_t r = 0; r < healthy.size(); ++r)
        speeds.push_back(static_cast<double>(healthy[r]) / slowness[r]);
    const double most = *std::ranges::max_element(speeds);
    Shares shares;
    std::size_t divisor = 0;
    for (const double speed : speeds) {
        shares.push_back(static_cast<std::size_t>(std::max(1L, std::lround(of_the_largest * speed / most))));
        divisor = std::gcd(divisor, shares.back());
    }
    for (std::size_t& share : shares) share /= divisor;
    return shares;
}

// Seconds of a step that one team is at its products, with the shares that it has and with others.
struct TeamSeconds {
    double now = 0;
    double then = 0;
};

// Of a team's ranks in the first stage that they hold together; even ones where they hold none.
Shares shares_of(const std::vector<int>& ranks, const Layout& layout) {
    for (const StageLayout& stage : layout.stages) {
        const auto replica = std::ranges::find(stage.replicas, ranks, &ReplicaLayout::ranks);
        if (replica != stage.replicas.end()) return replica->shares;
    }
    return Shares(ranks.size(), 1);
}

class UnevenShares {
public:
    explicit UnevenShares(UnevenRules rules) : rules_(std::move(rules)) {}

    std::optional<Decision> decide(const Observation& observed, const Plan& current) const {
        if (observed.step % rules_.every != 0 || observed.ranks.empty()) return std::nullopt;
        Decision decision{.step = observed.step, .layout = current.layout, .policy = "uneven"};
        TeamSeconds slowest;  // of the teams, now and then
        for (const Team& team : current.teams) {
            const Shares shares = in_proportion_to_speed(shares_of(team.ranks, rules_.healthy),
                                                         slowness_of(team.ranks, observed));
            const TeamSeconds seconds = seconds_of(team.ranks, shares, observed, current);
            slowest.now = std::max(slowest.now, seconds.now);
            slowest.then = std::max(slowest.then, seconds.then);
            give(team.ranks, shares, decision.layout);
        }
        const double gain = slowest.now - slowest.then;
        const bool is_little = gain <= rules_.least_gain * observed.step_seconds;
        if (decision.layout == current.layout || is_little) return std::nullopt;
        decision.reason = words_of_slowness(observed);
        decision.terms = {{gain_term, gain}, {"step_s", observed.step_seconds}};
        return decision;
    }

private:
    TeamSeconds seconds_of(const std::vector<int>& ranks, const Shares& then, const Observation& observed,
                           const Plan& current) const {
        const std::vector<double> slowness = slowness_of(ranks, observed);
        double healthy = 0;  // all its products, on one device that is not slow
        for (std::size_t r = 0; r < ranks.size(); ++r)
            healthy += observed.ranks[static_cast<std::size_t>(ranks[r])].products / slowness[r];
        const double each = healthy / static_cast<double>(ranks.size());
        const double shared = each * stretch_of(rules_.widths, then, slowness);
        const std::vector<Migration> help = within(current.migrations, ranks);
        if (!help.empty()) return {.now = seconds_with_help(ranks, help, observed), .then = shared};
        return {.now = each * stretch_of(rules_.widths, shares_of(ranks, current.layout), slowness),
                .then = shared};
    }

    // What else than products the ranks do becomes less with a share, and not with help: of that, what the
    // slowest has more of than the others counts, too.
    double seconds_with_help(const std::vector<int>& ranks, const std::vector<Migration>& help,
                             const Observation& observed) const {
        double slowest = 0;
        double least_others = std::numeric_limits<double>::infinity();
        for (const int rank : ranks) {
            const RankTimes& times = observed.ranks[static_cast<std::size_t>(rank)];
            slowest = std::max(slowest, times.busy());
            least_others = std::min(least_others, times.others);
        }
        return slowest - least_others + seconds_of_helping(help, ranks.size(), rules_.costs);
    }

    static void give(const std::vector<int>& ranks, const Shares& shares, Layout& layout) {
        for (StageLayout& stage : layout.stages) {
            for (ReplicaLayout& replica : stage.replicas) {
                if (replica.ranks == ranks) replica.shares = shares;
            }
        }
    }

    UnevenRules rules_;
};

}  // namespace

double stretch_of(const std::vector<SharedWidth>& widths, const Shares& shares,
                  const std::vector<double>& slowness) {
    double stretch = 0;
    for (const SharedWidth& width : widths) {
        const std::vector<Range> cut = cut_in_shares(width.units, shares, "units");
        double last = 0;
        for (std::size_t r = 0; r < cut.size(); ++r) {
            last = std::max(last, slowness[r] * static_cast<double>(cut[r].count));
        }
        stretch += width.work * last * static_cast<double>(cut.size()) / static_cast<double>(width.units);
    }
    return stretch;
}

Policy uneven_shares(UnevenRules rules) {
    return [uneven = UnevenShares(std::move(rules))](const Observation& observed, const Plan& current) {
        return uneven.decide(observed, current);
    };
}

}  // namespace trireme
