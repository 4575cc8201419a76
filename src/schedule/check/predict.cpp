#include "trireme/schedule/predict.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "schedule/check/abstract_machine.hpp"
#include "schedule/check/message_table.hpp"
#include "schedule/check/program_clock.hpp"
#include "schedule/programs/equal_replicas.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"

namespace trireme::schedule {

namespace {

double find_time(const std::map<Instruction, double>& times, const Instruction& instruction) {
    const auto found = times.find(instruction);
    return found == times.end() ? 0 : found->second;
}

double compute_idle_fraction(double seconds, const std::vector<double>& busy_times) {
    if (seconds <= 0 || busy_times.empty()) return 0;
    const double mean =
        std::accumulate(busy_times.begin(), busy_times.end(), 0.0) / static_cast<double>(busy_times.size());
    return 1 - mean / seconds;
}

void check_costs(const StepCosts& costs, const PipelineShape& shape) {
    if (costs.stages() != shape.holders.size())
        throw BugError(cat("the number of stages is ", shape.holders.size(), ", but costs are given for ",
                           costs.stages()));
    if (!costs.fit_microbatches(shape.microbatches, shape.steps))
        throw BugError(
            cat("the costs do not fit the number of micro-batches per step, which is ", shape.microbatches));
}

// Returns the programs without the instructions of empty micro-batches.
std::vector<Program> skip_empty_microbatches(std::vector<Program> programs, const StepCosts& costs) {
    for (Program& program : programs) {
        std::erase_if(program, [&](const Instruction& each) {
            return has_microbatch(each.op) && costs.is_empty(each.microbatch);
        });
    }
    return programs;
}

Prediction execute_programs(const std::vector<Program>& programs, const PipelineShape& shape,
                            const StepCosts& costs) {
    Prediction prediction;
    prediction.busy_times.resize(programs.size());
    prediction.spans.resize(programs.size());
    const MessageTable messages(programs, shape);
    AbstractMachine machine(programs, shape, messages, costs);
    machine.run([&](int team, const Span& span) {
        const auto t = static_cast<std::size_t>(team);
        prediction.busy_times[t] += span.end - span.begin;
        prediction.spans[t].push_back(span);
    });
    for (int team = 0; team < shape.teams; ++team) {
        if (!machine.is_finished(team))
            throw BugError(cat("these programs cannot run: team ", team, " ", machine.describe_obstacle(team)));
        prediction.makespan = std::max(prediction.makespan, machine.time(team));
        prediction.step_ends.push_back(machine.step_ends(team));
    }
    for (int team = 0; team < shape.teams && !costs.clocks().empty(); ++team)
        prediction.joules.push_back(machine.compute_joules(team, prediction.makespan));
    return prediction;
}

// True if the devices of all pipeline replicas have equal clocks, or if clocks are not known.
bool have_equal_clocks(const FirstReplica& first_replica, const std::vector<TeamClocks>& clocks) {
    const std::size_t teams = first_replica.programs.size();
    for (std::size_t team = teams; team < clocks.size(); ++team)
        if (clocks[team] != clocks[team % teams]) return false;
    return true;
}

// Equal pipeline replicas take the same time, so that only the first one is executed.
Prediction predict_all_replicas(const FirstReplica& first_replica, const StepCosts& costs) {
    const Prediction first_prediction = execute_programs(first_replica.programs, first_replica.shape, costs);
    Prediction prediction;
    prediction.makespan = first_prediction.makespan;
    for (int replica = 0; replica < first_replica.replicas; ++replica) {
        prediction.busy_times.insert(prediction.busy_times.end(), first_prediction.busy_times.begin(),
                                     first_prediction.busy_times.end());
        prediction.step_ends.insert(prediction.step_ends.end(), first_prediction.step_ends.begin(),
                                    first_prediction.step_ends.end());
        prediction.joules.insert(prediction.joules.end(), first_prediction.joules.begin(),
                                 first_prediction.joules.end());
        for (const std::vector<Span>& spans : first_prediction.spans) {
            std::vector<Span>& replica_spans = prediction.spans.emplace_back(spans);
            for (Span& span : replica_spans)
                span.instruction = first_replica.translate_to_replica(replica, span.instruction);
        }
    }
    return prediction;
}

}  // namespace

double Prediction::compute_bubble() const { return compute_idle_fraction(makespan, busy_times); }
double StepTime::compute_bubble() const { return compute_idle_fraction(seconds, busy_times); }

double OffloadTimes::find_begin(const Instruction& instruction) const { return find_time(begins, instruction); }
double OffloadTimes::find_return(const Instruction& instruction) const {
    return find_time(returns, instruction);
}

void OffloadTimes::merge(const OffloadTimes& other) {
    for (const auto member : {&OffloadTimes::begins, &OffloadTimes::returns}) {
        for (const auto& [instruction, seconds] : other.*member) {
            double& longest = (this->*member)[instruction];
            longest = std::max(longest, seconds);
        }
    }
    update = std::max(update, other.update);
}

// Predicts two unrollings, both with enough steps to fill the pipeline. The difference of their times is the
// time of the extra steps in the longer unrolling.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const StepCosts& costs) {
    const auto predict_steps = [&](int steps) {
        PipelineShape shape_of_steps = shape;
        shape_of_steps.steps = steps;
        return predict(unroll(phases, shape, steps), shape_of_steps, costs);
    };
    const int representative_steps = count_representative_steps(phases, shape.microbatches);
    const Prediction short_prediction = predict_steps(representative_steps);
    if (representative_steps == 1)  // no work is in flight across the end of a step
        return {.seconds = short_prediction.makespan,
                .busy_times = short_prediction.busy_times,
                .joules = short_prediction.joules};
    const int extra_steps = representative_steps + shape.stages();
    const Prediction long_prediction = predict_steps(representative_steps + extra_steps);
    StepTime step{.seconds = (long_prediction.makespan - short_prediction.makespan) / extra_steps};
    for (std::size_t team = 0; team < short_prediction.busy_times.size(); ++team) {
        step.busy_times.push_back((long_prediction.busy_times[team] - short_prediction.busy_times[team]) /
                                  extra_steps);
    }
    for (std::size_t team = 0; team < short_prediction.joules.size(); ++team) {
        step.joules.push_back((long_prediction.joules[team] - short_prediction.joules[team]) / extra_steps);
    }
    return step;
}

std::vector<double> predict_steps(const Phases& phases, const PipelineShape& shape,
                                  const std::vector<StepCosts>& steps) {
    std::vector<double> seconds;
    if (count_representative_steps(phases, shape.microbatches) == 1) {  // steps do not overlap
        for (const StepCosts& costs : steps) seconds.push_back(predict_step(phases, shape, costs).seconds);
        return seconds;
    }
    std::vector<StepCosts> sequence = steps;
    // The last ones of `steps` also execute work of these extra steps.
    sequence.insert(sequence.end(),
                    static_cast<std::size_t>(count_representative_steps(phases, shape.microbatches)),
                    steps.back());
    PipelineShape shape_of_sequence = shape;
    shape_of_sequence.steps = static_cast<int>(sequence.size());
    const Prediction prediction = predict(unroll(phases, shape, shape_of_sequence.steps), shape_of_sequence,
                                          StepCosts(sequence, shape.microbatches));
    for (std::size_t step = 0; step < steps.size(); ++step) {
        double slowest = 0;
        for (const std::vector<double>& ends : prediction.step_ends)
            slowest = std::max(slowest, ends[step] - (step == 0 ? 0 : ends[step - 1]));
        seconds.push_back(slowest);
    }
    return seconds;
}

Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape, const StepCosts& costs) {
    check_costs(costs, shape);
    if (costs.has_empty_microbatches())
        return execute_programs(skip_empty_microbatches(programs, costs), shape, costs);
    if (costs.are_equal_for_all_microbatches()) {
        const std::optional<FirstReplica> first_replica = find_equal_replicas(programs, shape);
        if (first_replica && have_equal_clocks(*first_replica, costs.clocks()))
            return predict_all_replicas(*first_replica, costs);
    }
    return execute_programs(programs, shape, costs);
}

struct StepClock::State {
    State(const Phases& phases, const PipelineShape& one_step)
        : shape(one_step),
          holdings(shape),
          clock(shape, holdings, std::vector<StageCost>(shape.holders.size())) {
        for (const Program& program : unroll(phases, shape, 1)) {
            Program& computation = programs.emplace_back();
            std::ranges::copy_if(program, std::back_inserter(computation),
                                 [](const Instruction& each) { return is_compute(each.op); });
        }
    }

    PipelineShape shape;
    StageHoldings holdings;
    std::vector<Program> programs;
    ProgramClock clock;
};

StepClock::StepClock(const Phases& phases, const PipelineShape& shape)
    : state_(std::make_unique<State>(phases, shape)) {}
StepClock::~StepClock() = default;

double StepClock::predict_seconds(StepCosts costs, const std::vector<OffloadTimes>& offloads) {
    const bool skips_some = costs.has_empty_microbatches();
    const std::vector<Program> programs =
        skips_some ? skip_empty_microbatches(state_->programs, costs) : state_->programs;
    state_->clock.set_costs(std::move(costs));
    state_->clock.set_offloads(offloads);
    return compute_duration(programs, state_->clock);
}

}  // namespace trireme::schedule
