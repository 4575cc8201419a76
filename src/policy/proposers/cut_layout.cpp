#include "policy/proposers/cut_layout.hpp"

#include <algorithm>
#include <numeric>

#include "policy/select_rank_values.hpp"

namespace trireme::policy {

std::vector<std::size_t> order_by_stage(const StageCut& cut) {
    std::vector<std::size_t> teams(std::accumulate(cut.replicas.begin(), cut.replicas.end(), std::size_t{0}));
    std::iota(teams.begin(), teams.end(), 0);
    return teams;
}

std::vector<std::size_t> order_by_pipeline(const StageCut& cut) {
    struct Replica {
        std::size_t stage;
        std::size_t number;  // in the stage
    };
    std::vector<Replica> replicas;
    for (std::size_t stage = 0; stage < cut.replicas.size(); ++stage)
        for (std::size_t number = 0; number < cut.replicas[stage]; ++number)
            replicas.push_back({stage, number});
    std::ranges::stable_sort(replicas, [&](const Replica& a, const Replica& b) {
        return (2 * a.number + 1) * cut.replicas[b.stage] < (2 * b.number + 1) * cut.replicas[a.stage];
    });
    std::vector<std::size_t> teams;
    for (std::size_t stage = 0; stage < cut.replicas.size(); ++stage)
        for (std::size_t team = 0; team < replicas.size(); ++team)
            if (replicas[team].stage == stage) teams.push_back(team);
    return teams;
}

layout::Layout make_cut_layout(const LengthRules& rules, const StageCut& cut,
                               const std::vector<std::size_t>& teams) {
    layout::Layout layout{.layers = rules.reduce_seconds.size()};
    std::size_t begin = 0;
    std::size_t next = 0;
    for (std::size_t stage = 0; stage < cut.layers.size(); ++stage) {
        layout.stages.push_back({.layers = {begin, cut.layers[stage]}});
        begin += cut.layers[stage];
        for (std::size_t replica = 0; replica < cut.replicas[stage]; ++replica) {
            const std::vector<int>& ranks = rules.teams[teams[next++]];
            layout.stages.back().replicas.push_back(
                {.ranks = ranks,
                 .shares = rules.shares.empty() ? std::vector<std::size_t>(ranks.size(), 1) : rules.shares});
        }
    }
    return layout;
}

std::vector<double> list_team_slowness(const LengthRules& rules, const plan::Observation& observed) {
    std::vector<double> slowness;
    for (const std::vector<int>& ranks : rules.teams)
        slowness.push_back(std::ranges::max(select_rank_values(ranks, observed.slowness, 1)));
    return slowness;
}

}  // namespace trireme::policy
