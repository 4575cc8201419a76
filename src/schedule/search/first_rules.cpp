#include "schedule/search/first_rules.hpp"

#include <algorithm>
#include <cmath>

namespace trireme::schedule {
namespace {

double replicas_of(const PipelineShape& shape, int stage) {
    return static_cast<double>(shape.holders[static_cast<std::size_t>(stage)].size());
}

// Returns the time per micro-batch of the busiest team, if replicas take equal turns.
double period_of(const PipelineShape& shape, const StageHoldings& holdings,
                 const std::vector<StageCost>& costs) {
    double longest = 0;
    for (int team = 0; team < shape.teams; ++team) {
        double work = 0;
        for (const Holding& held : holdings.of(team)) {
            work += costs[static_cast<std::size_t>(held.stage)].pass() / replicas_of(shape, held.stage);
        }
        longest = std::max(longest, work);
    }
    return longest;
}

// Returns the time from the beginning of a stage's forward to the end of its backward if no team waits.
double round_trip_of(int stage, const std::vector<StageCost>& costs) {
    double time = costs[static_cast<std::size_t>(stage)].backward_weight;
    for (std::size_t s = static_cast<std::size_t>(stage); s < costs.size(); ++s) {
        time += costs[s].forward + costs[s].backward_input;
        if (s + 1 < costs.size()) time += costs[s].send + costs[s + 1].send;
    }
    return time;
}

// Bounds on the activations that each team keeps. The functions below differ in how far teams run ahead.
using Bounds = std::vector<int>;  // per team

// Returns one activation per stage from its own to the last, as in 1F1B; the rounded-up mean over the stages of
// a team.
Bounds tapering(const PipelineShape& shape, const StageHoldings& holdings) {
    Bounds bounds;
    for (int team = 0; team < shape.teams; ++team) {
        int behind = 0;
        for (const Holding& held : holdings.of(team)) behind += shape.stages() - held.stage;
        const int stages = std::max(1, static_cast<int>(holdings.of(team).size()));
        bounds.push_back((behind + stages - 1) / stages);
    }
    return bounds;
}

// Returns the number of micro-batches that begin during the round trip of the first.
Bounds by_time(const PipelineShape& shape, const StageHoldings& holdings, const std::vector<StageCost>& costs) {
    const double period = period_of(shape, holdings, costs);
    const double all = static_cast<double>(shape.stages()) * shape.microbatches;
    Bounds bounds;
    for (int team = 0; team < shape.teams; ++team) {
        double begun = 0;
        for (const Holding& held : holdings.of(team)) {
            begun += round_trip_of(held.stage, costs) / replicas_of(shape, held.stage);
        }
        bounds.push_back(static_cast<int>(period > 0 ? std::min(std::ceil(begun / period), all) : all));
    }
    return bounds;
}

Bounds twice(Bounds bounds) {
    for (int& bound : bounds) bound *= 2;
    return bounds;
}

std::vector<Bounds> all_bounds(const PipelineShape& shape, const StageHoldings& holdings,
                               const std::vector<StageCost>& costs) {
    const auto teams = static_cast<std::size_t>(shape.teams);
    const Bounds in_row(teams, shape.stages());
    const Bounds timed = by_time(shape, holdings, costs);
    const Bounds tapered = tapering(shape, holdings);
    return {twice(timed),
            twice(in_row),
            timed,
            tapered,
            in_row,
            twice(tapered),
            Bounds(teams, shape.stages() * shape.microbatches)};
}

ListRule rule_of(const Bounds& bounds, const TeamRule& of_all, bool last_backward_first) {
    ListRule rule{.teams = std::vector<TeamRule>(bounds.size(), of_all),
                  .last_backward_first = last_backward_first};
    for (std::size_t t = 0; t < bounds.size(); ++t) rule.teams[t].most_kept = std::max(1, bounds[t]);
    return rule;
}

}  // namespace

std::vector<ListRule> first_rules(const PipelineShape& shape, const StageHoldings& holdings,
                                  const std::vector<StageCost>& costs) {
    using enum Preference;
    const TeamRule ways[] = {{.preference = f_i_w},
                             {.preference = i_f_w, .patience = 1},
                             {.preference = w_f_i},
                             {.preference = i_f_w},
                             {.preference = f_i_w, .patience = 1},
                             {.preference = f_i_w, .patience = 0.5},
                             {.preference = i_f_w, .patience = 0.5}};
    const bool has_several = static_cast<int>(holdings.all().size()) > shape.teams;
    std::vector<ListRule> rules;
    for (const TeamRule& way : ways) {
        for (const Bounds& bounds : all_bounds(shape, holdings, costs)) {
            rules.push_back(rule_of(bounds, way, true));
            if (has_several) rules.push_back(rule_of(bounds, way, false));
        }
    }
    return rules;
}

}  // namespace trireme::schedule
