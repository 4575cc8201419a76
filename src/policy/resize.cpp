#include "trireme/policy/resize.hpp"

#include <algorithm>
#include <cmath>

#include "policy/select_rank_values.hpp"
#include "trireme/policy/describe_slowness.hpp"

namespace trireme::policy {
namespace {

// Returns the seconds per step that a rank would need without skipped channels.
double compute_unskipped_seconds(const plan::RankTimes& times) {
    return times.unskipped_matmul_seconds() + times.others;
}

// Returns the seconds of the slowest rank of a team in which rank r skips the fraction skipped[r] of its
// matmuls.
double predict_slowest_rank_seconds(const std::vector<plan::RankTimes>& times,
                                    const std::vector<double>& skipped) {
    double max_seconds = 0;
    for (std::size_t r = 0; r < times.size(); ++r)
        max_seconds = std::max(max_seconds, compute_unskipped_seconds(times[r]) -
                                                skipped[r] * times[r].unskipped_matmul_seconds());
    return max_seconds;
}

// Returns true if a rank's skipped fraction changes enough, or if a rank no longer needs to skip channels.
bool is_worthwhile(const ResizeRules& rules, const std::vector<double>& next,
                   const std::vector<double>& current) {
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
        const double current_fraction = current.empty() ? 0 : current[rank];
        if (std::abs(next[rank] - current_fraction) > rules.min_change) return true;
        if (next[rank] == 0 && current_fraction > 0) return true;
    }
    return false;
}

}  // namespace

std::vector<double> balance_skipped_fractions(const std::vector<plan::RankTimes>& times,
                                              const std::vector<double>& slowness,
                                              double max_skipped_fraction) {
    double target_seconds = compute_unskipped_seconds(times.front());
    for (const plan::RankTimes& each : times)
        target_seconds = std::min(target_seconds, compute_unskipped_seconds(each));
    std::vector<double> fractions;
    for (std::size_t r = 0; r < times.size(); ++r) {
        const double matmul_seconds = times[r].unskipped_matmul_seconds();
        const bool may_skip = slowness[r] > 1 && matmul_seconds > 0;
        fractions.push_back(
            may_skip ? std::clamp((compute_unskipped_seconds(times[r]) - target_seconds) / matmul_seconds, 0.0,
                                  max_skipped_fraction)
                     : 0);
    }
    return fractions;
}

std::optional<plan::Decision> decide_resizing(const ResizeRules& rules, const plan::Observation& observed,
                                              const plan::Plan& current) {
    std::vector<double> skipped(observed.ranks.size(), 0);
    double current_seconds = 0;
    double next_seconds = 0;
    for (const layout::Team& team : current.teams) {
        const auto trains = [&](int stage) { return current.training.shape.trains(stage); };
        if (std::ranges::none_of(team.stages, trains)) continue;  // frozen layers skip no channels
        std::vector<plan::RankTimes> times;
        for (const int rank : team.ranks) times.push_back(observed.ranks[static_cast<std::size_t>(rank)]);
        const auto fractions = balance_skipped_fractions(
            times, select_rank_values(team.ranks, observed.slowness, 1), rules.max_skipped_fraction);
        for (std::size_t r = 0; r < fractions.size(); ++r)
            skipped[static_cast<std::size_t>(team.ranks[r])] = fractions[r];
        current_seconds =
            std::max(current_seconds,
                     predict_slowest_rank_seconds(times, select_rank_values(team.ranks, current.skipped, 0)));
        next_seconds = std::max(next_seconds, predict_slowest_rank_seconds(times, fractions));
    }
    if (!is_worthwhile(rules, skipped, current.skipped)) return std::nullopt;
    plan::Decision decision{.step = observed.step, .layout = current.layout, .policy = "resize"};
    const bool skips_nothing = std::ranges::all_of(skipped, [](double fraction) { return fraction == 0; });
    if (!skips_nothing) decision.skipped = skipped;
    decision.reason = describe_slowness(observed);
    decision.terms = make_gain_terms(observed, std::max(0.0, current_seconds - next_seconds));
    return decision;
}

}  // namespace trireme::policy
