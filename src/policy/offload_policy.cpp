#include <algorithm>

#include "policy/describe_slowness.hpp"
#include "policy/select_rank_values.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme::policy {
namespace {

bool is_nothing_skipped(const std::vector<double>& skipped_fractions) {
    return std::ranges::all_of(skipped_fractions, [](double fraction) { return fraction == 0; });
}

class OffloadPolicy {
public:
    explicit OffloadPolicy(OffloadRules rules) : rules_(std::move(rules)) {}

    std::optional<plan::Decision> decide(const plan::Observation& observed, const plan::Plan& current) const {
        if (observed.step % rules_.period != 0 || observed.ranks.empty()) return std::nullopt;
        plan::Decision decision{.step = observed.step, .layout = current.layout, .policy = rules_.policy};
        decision.skipped.assign(observed.ranks.size(), 0);
        double current_seconds = 0;
        double next_seconds = 0;
        for (const layout::Team& team : current.teams) {
            std::vector<plan::RankTimes> times;
            for (const int rank : team.ranks) times.push_back(observed.ranks[static_cast<std::size_t>(rank)]);
            const Sharing current_sharing{find_team_migrations(current.migrations, team.ranks),
                                          select_rank_values(team.ranks, current.skipped, 0)};
            const Sharing next_sharing =
                find_best_offload(times, select_rank_values(team.ranks, observed.slowness, 1), rules_);
            current_seconds =
                std::max(current_seconds, predict_team_seconds(times, current_sharing, rules_.costs));
            next_seconds = std::max(next_seconds, predict_team_seconds(times, next_sharing, rules_.costs));
            add_sharing(next_sharing, team.ranks, decision);
        }
        if (!is_worthwhile(decision, current, current_seconds, next_seconds)) return std::nullopt;
        if (is_nothing_skipped(decision.skipped)) decision.skipped.clear();
        decision.reason = describe_slowness(observed);
        decision.terms = make_gain_terms(observed, std::max(0.0, current_seconds - next_seconds));
        return decision;
    }

private:
    // Adds a team's sharing to the decision, and replaces indices in the team by ranks of the job.
    static void add_sharing(const Sharing& sharing, const std::vector<int>& ranks, plan::Decision& decision) {
        const auto find_rank = [&](int team_index) { return ranks[static_cast<std::size_t>(team_index)]; };
        for (const layout::Migration& each : sharing.migrations)
            decision.migrations.push_back({find_rank(each.from), find_rank(each.to), each.fractions});
        for (std::size_t r = 0; r < ranks.size(); ++r)
            decision.skipped[static_cast<std::size_t>(ranks[r])] = sharing.skipped[r];
    }

    // If no team needs sharing any more, ending the current sharing is worthwhile without a minimum gain. Other
    // decisions must save time (min_gain) or skip less work (min_change).
    bool is_worthwhile(const plan::Decision& next, const plan::Plan& current, double current_seconds,
                       double next_seconds) const {
        const bool next_shares_nothing = next.migrations.empty() && is_nothing_skipped(next.skipped);
        const bool current_shares_nothing = current.migrations.empty() && is_nothing_skipped(current.skipped);
        if (next_shares_nothing) return !current_shares_nothing;
        if (current_seconds - next_seconds > rules_.min_gain * current_seconds) return true;
        return sum_skipped_work({current.migrations, current.skipped}, rules_.costs) -
                   sum_skipped_work({next.migrations, next.skipped}, rules_.costs) >
               rules_.min_change;
    }

    OffloadRules rules_;
};

}  // namespace

Policy make_offload_policy(OffloadRules rules) {
    return [policy = OffloadPolicy(std::move(rules))](const plan::Observation& observed,
                                                      const plan::Plan& current) {
        return policy.decide(observed, current);
    };
}

}  // namespace trireme::policy
