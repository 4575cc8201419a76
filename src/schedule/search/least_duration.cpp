#include "schedule/search/least_duration.hpp"

#include <algorithm>
#include <limits>

namespace trireme::schedule {
namespace {

// The work of one team.
struct Load {
    double first_input = std::numeric_limits<double>::infinity();  // earliest arrival of an input
    double work = 0;
    double shortest_sum = std::numeric_limits<double>::infinity();  // shortest gradient reduction of its stages
    double steps = 0;
};

void add_work(const PipelineShape& shape, const std::vector<StageCost>& costs, std::vector<Load>& loads) {
    for (int m = 0; m < shape.microbatches; ++m) {
        double way = 0;  // time at which the micro-batch can reach the stage
        for (int stage = 0; stage < shape.stages(); ++stage) {
            const StageCost& cost = costs[static_cast<std::size_t>(stage)];
            const int team = shape.executor_of(stage, m);
            Load& load = loads[static_cast<std::size_t>(team)];
            load.first_input = std::min(load.first_input, way);
            load.work += cost.pass();
            way += cost.forward;
            const bool leaves = stage + 1 < shape.stages() && shape.executor_of(stage + 1, m) != team;
            if (leaves) way += cost.send;
        }
    }
}

}  // namespace

double least_duration(const PipelineShape& shape, const StageHoldings& holdings,
                      const std::vector<StageCost>& costs) {
    std::vector<Load> loads(static_cast<std::size_t>(shape.teams));
    add_work(shape, costs, loads);
    for (const Holding& held : holdings.all()) {
        Load& load = loads[static_cast<std::size_t>(held.team)];
        const StageCost& cost = costs[static_cast<std::size_t>(held.stage)];
        load.shortest_sum = std::min(load.shortest_sum, cost.reduce);
        load.steps += cost.step;
    }
    double sums = 0;
    double steps = 0;
    for (const Load& load : loads) {
        if (load.work > 0) sums = std::max(sums, load.first_input + load.work + load.shortest_sum);
        steps = std::max(steps, load.steps);
    }
    return sums + steps;
}

}  // namespace trireme::schedule
