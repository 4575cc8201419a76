#include "schedule/search/min_duration.hpp"

#include <algorithm>
#include <limits>

namespace trireme::schedule {
namespace {

// The times of one team in a step, in the unit of StageCost.
struct TeamLoad {
    // Earliest possible arrival of an input of the team.
    double first_arrival = std::numeric_limits<double>::infinity();
    double work = 0;  // duration of all forwards and backwards
    // Duration of the shortest gradient reduction among the team's stages.
    double min_reduction = std::numeric_limits<double>::infinity();
    double step_time = 0;  // duration of all STEPs
};

// Adds all passes to the loads of their teams: fills in `first_arrival` and `work`.
void add_passes(const PipelineShape& shape, const std::vector<StageCost>& costs,
                std::vector<TeamLoad>& team_loads) {
    for (int m = 0; m < shape.microbatches; ++m) {
        double arrival_time = 0;  // earliest time at which micro-batch m can arrive at `stage`
        for (int stage = 0; stage < shape.stages(); ++stage) {
            const StageCost& cost = costs[static_cast<std::size_t>(stage)];
            const int team = shape.find_executor(stage, m);
            TeamLoad& load = team_loads[static_cast<std::size_t>(team)];
            load.first_arrival = std::min(load.first_arrival, arrival_time);
            load.work += cost.compute_pass_time();
            arrival_time += cost.forward;
            const bool is_sent = stage + 1 < shape.stages() && shape.find_executor(stage + 1, m) != team;
            if (is_sent) arrival_time += cost.send;
        }
    }
}

}  // namespace

double compute_min_duration(const PipelineShape& shape, const StageHoldings& holdings,
                            const std::vector<StageCost>& costs) {
    std::vector<TeamLoad> team_loads(static_cast<std::size_t>(shape.teams));
    add_passes(shape, costs, team_loads);
    for (const Holding& holding : holdings.all_holdings()) {
        TeamLoad& load = team_loads[static_cast<std::size_t>(holding.team)];
        const StageCost& cost = costs[static_cast<std::size_t>(holding.stage)];
        load.min_reduction = std::min(load.min_reduction, cost.reduce);
        load.step_time += cost.step;
    }
    double reductions_end = 0;
    double max_step_time = 0;
    for (const TeamLoad& load : team_loads) {
        if (load.work > 0)
            reductions_end = std::max(reductions_end, load.first_arrival + load.work + load.min_reduction);
        max_step_time = std::max(max_step_time, load.step_time);
    }
    return reductions_end + max_step_time;
}

}  // namespace trireme::schedule
