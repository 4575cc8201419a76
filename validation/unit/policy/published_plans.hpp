// Plans and predictions for tests of FlexPipe's published rule. Each team is one rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "trireme/policy/published.hpp"

namespace trireme::policy {

// Returns a layout of stages with consecutive layers on consecutive ranks.
inline layout::Layout make_staged_layout(const std::vector<std::size_t>& layers,
                                         const std::vector<std::size_t>& replicas) {
    layout::Layout layout;
    int rank = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        layout.stages.push_back({.layers = {layout.layers, layers[stage]}});
        layout.layers += layers[stage];
        for (std::size_t r = 0; r < replicas[stage]; ++r)
            layout.stages.back().replicas.push_back({.ranks = {rank++}, .shares = {1}});
    }
    return layout;
}

// Returns rules for a model whose blocks are layers of equal work: a thousandth of a second per token of the
// longest sample. Messages and all-reduces take no time. The step fits with any number of blocks per team.
inline PublishedRules make_published_rules(std::size_t blocks, int teams) {
    PublishedRules rules;
    rules.lengths.cuts.resize(blocks);
    std::iota(rules.lengths.cuts.begin(), rules.lengths.cuts.end(), 0);
    rules.lengths.reduce_seconds.assign(blocks, 0);
    for (int team = 0; team < teams; ++team) rules.lengths.teams.push_back({team});
    rules.lengths.costs = [blocks](const plan::StepAhead& step, int) {
        return LengthCosts{.layer_seconds =
                               std::vector<double>(blocks, std::ranges::max(step.lengths) / 1000.0)};
    };
    rules.max_blocks = [blocks](const plan::StepAhead&) { return blocks; };
    rules.memory_plan_seconds = [](const plan::StepAhead&) { return std::nullopt; };
    return rules;
}

// All changes take equal times. Some numbers of stages are impossible, as plans or as aims of a change.
class StageCountOutlook final : public Outlook {
public:
    explicit StageCountOutlook(double change_seconds) : change_seconds_(change_seconds) {}

    std::optional<StepOutlook> predict_step(const Candidate& candidate, const plan::StepAhead&) override {
        if (impossible_plans.contains(candidate.layout->stages.size())) return std::nullopt;
        return StepOutlook{.seconds = 1};
    }
    double estimate_change_seconds(const Candidate&, const Candidate&) override { return change_seconds_; }
    std::optional<double> predict_change_seconds(const Candidate& to) override {
        if (impossible_changes.contains(to.layout->stages.size())) return std::nullopt;
        return change_seconds_;
    }

    std::set<std::size_t> impossible_plans = {};
    std::set<std::size_t> impossible_changes = {};

private:
    double change_seconds_;
};

}  // namespace trireme::policy
