#include <algorithm>

#include "policy/of_ranks.hpp"
#include "policy/slowness_words.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme::policy {
namespace {

bool leaves_out_nothing(const std::vector<double>& parts) {
    return std::ranges::all_of(parts, [](double part) { return part == 0; });
}

class SharedProducts {
public:
    explicit SharedProducts(SharingRules rules) : rules_(std::move(rules)) {}

    std::optional<plan::Decision> decide(const plan::Observation& observed, const plan::Plan& current) const {
        if (observed.step % rules_.every != 0 || observed.ranks.empty()) return std::nullopt;
        plan::Decision decision{.step = observed.step, .layout = current.layout, .policy = rules_.policy};
        decision.left_out.assign(observed.ranks.size(), 0);
        double now = 0;
        double then = 0;
        for (const layout::Team& team : current.teams) {
            std::vector<plan::RankTimes> times;
            for (const int rank : team.ranks) times.push_back(observed.ranks[static_cast<std::size_t>(rank)]);
            const Sharing before{within(current.migrations, team.ranks),
                                 of_ranks(team.ranks, current.left_out, 0)};
            const Sharing next = best_sharing(times, of_ranks(team.ranks, observed.slowness, 1), rules_);
            now = std::max(now, seconds_of_team(times, before, rules_.costs));
            then = std::max(then, seconds_of_team(times, next, rules_.costs));
            add(next, team.ranks, decision);
        }
        if (!is_worth(decision, current, now, then)) return std::nullopt;
        if (leaves_out_nothing(decision.left_out)) decision.left_out.clear();
        decision.reason = words_of_slowness(observed);
        decision.terms = terms_of_gain(observed, std::max(0.0, now - then));
        return decision;
    }

private:
    // Adds a team's sharing to the decision, with ranks numbered as in the job.
    static void add(const Sharing& sharing, const std::vector<int>& ranks, plan::Decision& decision) {
        const auto number = [&](int place) { return ranks[static_cast<std::size_t>(place)]; };
        for (const layout::Migration& each : sharing.migrations)
            decision.migrations.push_back({number(each.from), number(each.to), each.parts});
        for (std::size_t r = 0; r < ranks.size(); ++r)
            decision.left_out[static_cast<std::size_t>(ranks[r])] = sharing.left_out[r];
    }

    // Sharing ends as soon as no rank is slow.
    bool is_worth(const plan::Decision& next, const plan::Plan& current, double now, double then) const {
        const bool is_nothing = next.migrations.empty() && leaves_out_nothing(next.left_out);
        const bool was_nothing = current.migrations.empty() && leaves_out_nothing(current.left_out);
        if (is_nothing) return !was_nothing;
        if (now - then > rules_.least_gain * now) return true;
        return all_left_out({current.migrations, current.left_out}, rules_.costs) -
                   all_left_out({next.migrations, next.left_out}, rules_.costs) >
               rules_.least_change;
    }

    SharingRules rules_;
};

}  // namespace

Policy shared_products(SharingRules rules) {
    return [shared = SharedProducts(std::move(rules))](const plan::Observation& observed,
                                                       const plan::Plan& current) {
        return shared.decide(observed, current);
    };
}

}  // namespace trireme::policy
