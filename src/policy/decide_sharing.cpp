#include <algorithm>

#include "policy/select_rank_values.hpp"
#include "trireme/policy/describe_slowness.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme::policy {
namespace {

bool is_nothing_skipped(const std::vector<double>& skipped_fractions) {
    return std::ranges::all_of(skipped_fractions, [](double fraction) { return fraction == 0; });
}

// Adds a team's sharing to the decision, and replaces indices in the team by ranks of the job.
void add_sharing(const Sharing& sharing, const std::vector<int>& ranks, plan::Decision& decision) {
    const auto find_rank = [&](int team_index) { return ranks[static_cast<std::size_t>(team_index)]; };
    for (const layout::Migration& each : sharing.migrations)
        decision.migrations.push_back({find_rank(each.from), find_rank(each.to), each.fractions});
    for (std::size_t r = 0; r < ranks.size(); ++r)
        decision.skipped[static_cast<std::size_t>(ranks[r])] = sharing.skipped[r];
}

// If no team needs sharing any more, ending the current sharing is worthwhile without a minimum gain. Other
// decisions must save time (min_gain) or skip less work (min_change).
bool is_worthwhile(const OffloadRules& rules, const plan::Decision& next, const plan::Plan& current,
                   double current_seconds, double next_seconds) {
    const bool next_shares_nothing = next.migrations.empty() && is_nothing_skipped(next.skipped);
    const bool current_shares_nothing = current.migrations.empty() && is_nothing_skipped(current.skipped);
    if (next_shares_nothing) return !current_shares_nothing;
    if (current_seconds - next_seconds > rules.min_gain * current_seconds) return true;
    return sum_skipped_work({current.migrations, current.skipped}, rules.costs) -
               sum_skipped_work({next.migrations, next.skipped}, rules.costs) >
           rules.min_change;
}

}  // namespace

std::optional<plan::Decision> decide_sharing(const OffloadRules& rules, const plan::Observation& observed,
                                             const plan::Plan& current) {
    plan::Decision decision{.step = observed.step, .layout = current.layout, .policy = rules.policy};
    decision.skipped.assign(observed.ranks.size(), 0);
    double current_seconds = 0;
    double next_seconds = 0;
    for (const layout::Team& team : current.teams) {
        std::vector<plan::RankTimes> times;
        for (const int rank : team.ranks) times.push_back(observed.ranks[static_cast<std::size_t>(rank)]);
        const Sharing current_sharing{find_team_migrations(current.migrations, team.ranks),
                                      select_rank_values(team.ranks, current.skipped, 0)};
        const Sharing next_sharing =
            find_best_offload(times, select_rank_values(team.ranks, observed.slowness, 1), rules);
        current_seconds = std::max(current_seconds, predict_team_seconds(times, current_sharing, rules.costs));
        next_seconds = std::max(next_seconds, predict_team_seconds(times, next_sharing, rules.costs));
        add_sharing(next_sharing, team.ranks, decision);
    }
    if (!is_worthwhile(rules, decision, current, current_seconds, next_seconds)) return std::nullopt;
    if (is_nothing_skipped(decision.skipped)) decision.skipped.clear();
    decision.reason = describe_slowness(observed);
    decision.terms = make_gain_terms(observed, std::max(0.0, current_seconds - next_seconds));
    return decision;
}

}  // namespace trireme::policy
