#include "schedule/search/initial_rules.hpp"

#include <algorithm>
#include <cmath>

namespace trireme::schedule {
namespace {

double count_replicas(const PipelineShape& shape, int stage) {
    return static_cast<double>(shape.holders[static_cast<std::size_t>(stage)].size());
}

// Returns the compute time of the busiest team in a step, divided by the number of micro-batches of the step.
// Assumes that the replicas of a stage share the micro-batches equally.
double compute_period(const PipelineShape& shape, const StageHoldings& holdings,
                      const std::vector<StageCost>& costs) {
    double max_work = 0;
    for (int team = 0; team < shape.teams; ++team) {
        double work = 0;
        for (const Holding& holding : holdings.find_team_holdings(team)) {
            work += costs[static_cast<std::size_t>(holding.stage)].compute_pass_time() /
                    count_replicas(shape, holding.stage);
        }
        max_work = std::max(max_work, work);
    }
    return max_work;
}

// Returns the time from the beginning of a micro-batch's forward in `stage` to the end of its backward in
// `stage`, if no team waits.
double compute_round_trip(int stage, const std::vector<StageCost>& costs) {
    double duration = costs[static_cast<std::size_t>(stage)].backward_weight;
    for (std::size_t s = static_cast<std::size_t>(stage); s < costs.size(); ++s) {
        duration += costs[s].forward + costs[s].backward_input;
        if (s + 1 < costs.size()) duration += costs[s].send + costs[s + 1].send;
    }
    return duration;
}

// Per team: maximum number of activations in the stash, summed over the team's stages. Larger limits let more
// forwards precede the first backward.
using ActivationLimits = std::vector<int>;

// Returns limits as in 1F1B: for each stage, the number of stages from this stage to the last one, including
// both. A team with several stages gets the mean of these numbers, rounded up.
ActivationLimits make_tapered_limits(const PipelineShape& shape, const StageHoldings& holdings) {
    ActivationLimits limits;
    for (int team = 0; team < shape.teams; ++team) {
        int stages_to_end = 0;  // summed over the stages of the team
        for (const Holding& holding : holdings.find_team_holdings(team))
            stages_to_end += shape.stages() - holding.stage;
        const int held_stages = std::max(1, static_cast<int>(holdings.find_team_holdings(team).size()));
        limits.push_back((stages_to_end + held_stages - 1) / held_stages);
    }
    return limits;
}

// Returns limits that let a replica begin micro-batches without a pause during the round trip of its first
// micro-batch. In each stage, one micro-batch begins per period (see compute_period()), and the replicas of the
// stage take turns.
ActivationLimits make_timed_limits(const PipelineShape& shape, const StageHoldings& holdings,
                                   const std::vector<StageCost>& costs) {
    const double period = compute_period(shape, holdings, costs);
    const double max_limit = static_cast<double>(shape.stages()) * shape.microbatches;
    ActivationLimits limits;
    for (int team = 0; team < shape.teams; ++team) {
        double round_trip_time = 0;  // divided by the number of replicas; summed over the team's stages
        for (const Holding& holding : holdings.find_team_holdings(team)) {
            round_trip_time += compute_round_trip(holding.stage, costs) / count_replicas(shape, holding.stage);
        }
        limits.push_back(static_cast<int>(period > 0 ? std::min(std::ceil(round_trip_time / period), max_limit)
                                                     : max_limit));
    }
    return limits;
}

ActivationLimits double_limits(ActivationLimits limits) {
    for (int& limit : limits) limit *= 2;
    return limits;
}

// Returns the limits that the search tries. Limits that are often good come first.
std::vector<ActivationLimits> list_limits(const PipelineShape& shape, const StageHoldings& holdings,
                                          const std::vector<StageCost>& costs) {
    const auto teams = static_cast<std::size_t>(shape.teams);
    const ActivationLimits uniform_limits(teams, shape.stages());
    const ActivationLimits timed_limits = make_timed_limits(shape, holdings, costs);
    const ActivationLimits tapered_limits = make_tapered_limits(shape, holdings);
    const ActivationLimits no_limits(teams, shape.stages() * shape.microbatches);
    return {double_limits(timed_limits),
            double_limits(uniform_limits),
            timed_limits,
            tapered_limits,
            uniform_limits,
            double_limits(tapered_limits),
            no_limits};
}

// Returns a rule in which the teams differ only in their limits.
ListRule make_rule(const ActivationLimits& limits, const TeamRule& team_rule, bool prefers_last_backward) {
    ListRule rule{.teams = std::vector<TeamRule>(limits.size(), team_rule),
                  .prefers_last_backward = prefers_last_backward};
    for (std::size_t t = 0; t < limits.size(); ++t) rule.teams[t].max_activations = std::max(1, limits[t]);
    return rule;
}

}  // namespace

std::vector<ListRule> make_initial_rules(const PipelineShape& shape, const StageHoldings& holdings,
                                         const std::vector<StageCost>& costs) {
    using enum Preference;
    const TeamRule team_rules[] = {{.preference = f_i_w},
                                   {.preference = i_f_w, .delay_fraction = 1},
                                   {.preference = w_f_i},
                                   {.preference = i_f_w},
                                   {.preference = f_i_w, .delay_fraction = 1},
                                   {.preference = f_i_w, .delay_fraction = 0.5},
                                   {.preference = i_f_w, .delay_fraction = 0.5}};
    const bool has_team_with_several_stages = static_cast<int>(holdings.all_holdings().size()) > shape.teams;
    std::vector<ListRule> rules;
    for (const TeamRule& team_rule : team_rules) {
        for (const ActivationLimits& limits : list_limits(shape, holdings, costs)) {
            rules.push_back(make_rule(limits, team_rule, true));
            if (has_team_with_several_stages) rules.push_back(make_rule(limits, team_rule, false));
        }
    }
    return rules;
}

}  // namespace trireme::schedule
