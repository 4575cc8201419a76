#include "policy/proposers/cut_layout.hpp"

#include <algorithm>

#include "policy/select_rank_values.hpp"

namespace trireme::policy {

std::vector<ReplicaPosition> order_by_stage(const StageCut& cut) {
    std::vector<ReplicaPosition> order;
    for (std::size_t stage = 0; stage < cut.replicas.size(); ++stage) {
        for (std::size_t replica = 0; replica < cut.replicas[stage]; ++replica)
            order.push_back({stage, replica});
    }
    return order;
}

std::vector<ReplicaPosition> order_by_pipeline(const StageCut& cut) {
    std::vector<ReplicaPosition> order = order_by_stage(cut);
    std::ranges::stable_sort(order, [&](const ReplicaPosition& a, const ReplicaPosition& b) {
        return (2 * a.replica + 1) * cut.replicas[b.stage] < (2 * b.replica + 1) * cut.replicas[a.stage];
    });
    return order;
}

layout::Layout make_cut_layout(const LengthRules& rules, const StageCut& cut,
                               const std::vector<ReplicaPosition>& order) {
    layout::Layout layout{.layers = rules.reduce_seconds.size()};
    std::size_t begin = 0;
    for (std::size_t stage = 0; stage < cut.layers.size(); ++stage) {
        layout.stages.push_back({.layers = {begin, cut.layers[stage]}});
        layout.stages.back().replicas.resize(cut.replicas[stage]);
        begin += cut.layers[stage];
    }
    for (std::size_t team = 0; team < order.size(); ++team) {
        const std::vector<int>& ranks = rules.teams[team];
        layout.stages[order[team].stage].replicas[order[team].replica] = {
            .ranks = ranks,
            .shares = rules.shares.empty() ? std::vector<std::size_t>(ranks.size(), 1) : rules.shares};
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
