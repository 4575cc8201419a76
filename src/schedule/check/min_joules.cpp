#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>

#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {
namespace {

// The time and the joules of a pass at one clock.
struct Point {
    double seconds = 0;
    double joules = 0;
};

// A part of a pass that may run at the lower one of two clocks.
struct Slowing {
    double seconds = 0;       // by which the pass takes longer
    double saved_joules = 0;  // compared with the higher clock

    double joules_per_second() const {
        return seconds > 0 ? saved_joules / seconds : std::numeric_limits<double>::infinity();
    }
};

// Returns the edges of the lower convex hull of the points, from the first point to the one with the least
// joules.
std::vector<Slowing> list_slowings(const std::vector<Point>& points) {
    std::vector<Slowing> slowings;
    for (Point from = points.front();;) {
        Slowing best;
        for (const Point& to : points) {
            const Slowing slowing{.seconds = std::max(0.0, to.seconds - from.seconds),
                                  .saved_joules = from.joules - to.joules};
            if (slowing.saved_joules <= 0) continue;
            const double gain = slowing.joules_per_second();
            const bool is_farther = gain == best.joules_per_second() && slowing.seconds > best.seconds;
            if (best.saved_joules == 0 || gain > best.joules_per_second() || is_farther) best = slowing;
        }
        if (best.saved_joules == 0) return slowings;
        slowings.push_back(best);
        from = {.seconds = from.seconds + best.seconds, .joules = from.joules - best.saved_joules};
    }
}

// Returns the costs of an instruction of a step at each clock of the team. Joules are in addition to those of
// the same time at the least idle watts.
std::vector<Point> list_points(const Instruction& instruction, int microbatch, const StepCosts& costs,
                               const std::vector<double>& idle_watts) {
    const double min_idle_watts = std::ranges::min(idle_watts);
    std::vector<Point> points;
    for (std::size_t clock = 0; clock < idle_watts.size(); ++clock) {
        const StageCost& cost = costs.find(instruction.stage, microbatch, clock);
        const double seconds = cost.find_time(instruction.op);
        const double idle_joules = (idle_watts[clock] - min_idle_watts) * seconds;
        points.push_back({.seconds = seconds, .joules = cost.find_joules(instruction.op) + idle_joules});
    }
    return points;
}

// Returns the joules that the team saves if it spends `slack` seconds on the slowings that save the most joules
// per second.
double spend(double slack, std::vector<Slowing> slowings) {
    std::ranges::stable_sort(slowings, std::greater<>(), &Slowing::joules_per_second);
    double saved = 0;
    for (const Slowing& slowing : slowings) {
        if (slowing.seconds > slack) return saved + slowing.saved_joules * slack / slowing.seconds;
        slack -= slowing.seconds;
        saved += slowing.saved_joules;
    }
    return saved;
}

// Returns the micro-batch that has the costs of an instruction of a step: see StepCosts.
int find_microbatch(const Instruction& instruction, int team, const PipelineShape& shape) {
    return has_microbatch(instruction.op) ? instruction.microbatch % shape.microbatches
                                          : shape.find_last_microbatch(team, instruction.stage);
}

// `program` may contain passes of later steps.
double find_min_joules(int team, const Program& program, const PipelineShape& shape, const StepCosts& costs,
                       double seconds) {
    const std::vector<double>& idle_watts = costs.clocks()[static_cast<std::size_t>(team)].idle_watts;
    std::vector<Slowing> slowings;
    double joules = seconds * std::ranges::min(idle_watts);
    double slack = seconds;
    for (const Instruction& instruction : program) {
        if (!is_compute(instruction.op) && instruction.op != Op::step) continue;
        const int microbatch = find_microbatch(instruction, team, shape);
        if (is_compute(instruction.op) && costs.is_empty(microbatch)) continue;
        const std::vector<Point> points = list_points(instruction, microbatch, costs, idle_watts);
        std::ranges::copy(list_slowings(points), std::back_inserter(slowings));
        joules += points.front().joules;
        slack -= points.front().seconds;
    }
    return joules - spend(std::max(0.0, slack), std::move(slowings));
}

}  // namespace

std::vector<double> find_min_joules(const Phases& phases, const PipelineShape& shape, const StepCosts& costs,
                                    double seconds) {
    std::vector<double> joules;
    for (std::size_t team = 0; team < phases.body.size(); ++team)
        joules.push_back(find_min_joules(static_cast<int>(team), phases.body[team], shape, costs, seconds));
    return joules;
}

}  // namespace trireme::schedule
