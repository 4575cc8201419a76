#include "schedule/search/initial_rules.hpp"

#include <algorithm>
#include <cmath>

namespace trireme::schedule {
namespace {

double count_replicas(const PipelineShape& shape, int stage) {
    return static_cast<double>(shape.holders[static_cast<std::size_t>(stage)].size());
}

// Returns the time per micro-batch of the busiest team, if the replicas of a stage share its micro-batches
// equally.
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

// Returns the time from the beginning of a micro-batch's forward in a stage to the end of its backward there,
// if no team waits.
double compute_round_trip(int stage, const std::vector<StageCost>& costs) {
    double duration = costs[static_cast<std::size_t>(stage)].backward_weight;
    for (std::size_t s = static_cast<std::size_t>(stage); s < costs.size(); ++s) {
        duration += costs[s].forward + costs[s].backward_input;
        if (s + 1 < costs.size()) duration += costs[s].send + costs[s + 1].send;
    }
    return duration;
}

// Activation limits of the teams. The larger they are, the more forwards precede the first backward. The
// functions below return different limits.
using ActivationLimits = std::vector<int>;  // per team: largest number of activations, summed over its stages

// Returns limits as in 1F1B: for each stage, the number of stages from it to the last one. A team with several
// stages gets their mean, rounded up.
ActivationLimits make_tapered_limits(const PipelineShape& shape, const StageHoldings& holdings) {
    ActivationLimits limits;
    for (int team = 0; team < shape.teams; ++team) {
        int stages_to_end = 0;
        for (const Holding& holding : holdings.find_team_holdings(team))
            stages_to_end += shape.stages() - holding.stage;
        const int stages = std::max(1, static_cast<int>(holdings.find_team_holdings(team).size()));
        limits.push_back((stages_to_end + stages - 1) / stages);
    }
    return limits;
}

// Returns, per team, the number of micro-batches that begin during the round trip of the first one, summed over
// the stages of the team.
ActivationLimits make_timed_limits(const PipelineShape& shape, const StageHoldings& holdings,
                                   const std::vector<StageCost>& costs) {
    const double period = compute_period(shape, holdings, costs);
    const double max_limit = static_cast<double>(shape.stages()) * shape.microbatches;
    ActivationLimits limits;
    for (int team = 0; team < shape.teams; ++team) {
        double begun_microbatches = 0;
        for (const Holding& holding : holdings.find_team_holdings(team)) {
            begun_microbatches +=
                compute_round_trip(holding.stage, costs) / count_replicas(shape, holding.stage);
        }
        limits.push_back(static_cast<int>(
            period > 0 ? std::min(std::ceil(begun_microbatches / period), max_limit) : max_limit));
    }
    return limits;
}

ActivationLimits double_limits(ActivationLimits limits) {
    for (int& limit : limits) limit *= 2;
    return limits;
}

std::vector<ActivationLimits> list_limits(const PipelineShape& shape, const StageHoldings& holdings,
                                          const std::vector<StageCost>& costs) {
    const auto teams = static_cast<std::size_t>(shape.teams);
    const ActivationLimits uniform_limits(teams, shape.stages());
    const ActivationLimits timed_limits = make_timed_limits(shape, holdings, costs);
    const ActivationLimits tapered_limits = make_tapered_limits(shape, holdings);
    return {double_limits(timed_limits),
            double_limits(uniform_limits),
            timed_limits,
            tapered_limits,
            uniform_limits,
            double_limits(tapered_limits),
            ActivationLimits(teams, shape.stages() * shape.microbatches)};
}

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
    const bool has_several_stages_per_team = static_cast<int>(holdings.all_holdings().size()) > shape.teams;
    std::vector<ListRule> rules;
    for (const TeamRule& team_rule : team_rules) {
        for (const ActivationLimits& limits : list_limits(shape, holdings, costs)) {
            rules.push_back(make_rule(limits, team_rule, true));
            if (has_several_stages_per_team) rules.push_back(make_rule(limits, team_rule, false));
        }
    }
    return rules;
}

}  // namespace trireme::schedule
