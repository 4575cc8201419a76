// Predicts how long programs take, for given costs of stages, by an abstract execution with a clock.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Costs of one stage, in seconds or any other unit of time: `reduce` and `step` for one step, all others for
// one micro-batch. A backward that is not split takes backward_input + backward_weight, and its gradient is
// sent after both.
struct StageCost {
    double forward = 1;
    double backward_input = 1;
    double backward_weight = 1;
    double send = 0;    // duration of a message, from the later one of its send and its receive to the arrival
    double reduce = 0;  // from the last team's REDUCE to the end of the reduction
    double step = 0;    // duration of a STEP

    double compute_pass_time() const { return forward + backward_input + backward_weight; }
    friend bool operator==(const StageCost&, const StageCost&) = default;
};

// The costs of a step.
class StepCosts {
public:
    // All micro-batches of a stage have equal costs. `stages` has one entry per stage.
    StepCosts(const std::vector<StageCost>& stages);
    // `costs` is indexed by [stage][micro-batch], with the micro-batches of one step, whose costs all steps
    // have, or of all steps. The REDUCE and the STEP of a team have the costs of its last micro-batch in the
    // stage and step. `empty_microbatches` is indexed by the micro-batch: no team executes or sends a
    // micro-batch without samples, so it costs nothing. It may be omitted if there is none.
    explicit StepCosts(std::vector<std::vector<StageCost>> costs, std::vector<bool> empty_microbatches = {});

    std::size_t stages() const { return costs_.size(); }
    bool are_equal_for_all_microbatches() const { return costs_.front().size() == 1; }
    // True if every stage has costs for the micro-batches of one step, or of `steps` steps.
    bool fit_microbatches(int microbatches, int steps) const;
    bool has_empty_microbatches() const;
    // Micro-batches are numbered over all steps.
    bool is_empty(int microbatch) const;
    const StageCost& find(int stage, int microbatch) const;

private:
    std::vector<std::vector<StageCost>> costs_;  // [stage][micro-batch]; one entry per stage if all are equal
    std::vector<bool> empty_microbatches_;       // may be empty: then no micro-batch is
};

// The execution of one instruction.
struct Span {
    Instruction instruction;  // a compute instruction or a STEP
    double begin = 0;
    double end = 0;
};

struct Prediction {
    double makespan = 0;             // from the first instruction to the end of the last one, over all teams
    std::vector<double> busy_times;  // per team: time in compute instructions and STEPs
    std::vector<std::vector<Span>> spans;  // per team, in the order of execution
    // Per step: the time at which the last team has done its STEPs and VALIDATEs; empty for forward-only
    // programs.
    std::vector<double> step_ends = {};

    double compute_idle_time(std::size_t team) const { return makespan - busy_times[team]; }
    double compute_bubble() const;  // 1 - mean of busy_times / makespan
};

// The time of one step among many, once the pipeline is full. In a synchronous schedule all steps take this
// time.
struct StepTime {
    double seconds = 0;                   // or the other unit in which the costs are given
    std::vector<double> busy_times = {};  // per team: time in compute instructions and STEPs

    double compute_idle_time(std::size_t team) const { return seconds - busy_times[team]; }
    double compute_bubble() const;  // 1 - mean of busy_times / seconds
};

// Predicts the time of a step; `shape` describes one step. verify_programs() must accept the programs of
// `phases`. Throws BugError if they deadlock, or if the costs do not fit the shape.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const StepCosts& costs);

// Predicts the time of each of several consecutive steps with different costs: from the end of the previous
// step, as Prediction::step_ends defines it, to its own. If steps overlap, the first step also fills the
// pipeline, and a step like the last one follows. `shape` describes one step. Throws BugError for the reasons
// of predict_step().
std::vector<double> predict_steps(const Phases& phases, const PipelineShape& shape,
                                  const std::vector<StepCosts>& steps);

// Predicts the time of a single step, which begins and ends with an empty pipeline, for many different costs. No
// message waits for a buffer. Its REDUCEs and STEPs have the costs of the first micro-batch.
class StepClock {
public:
    StepClock(const Phases& phases, const PipelineShape& shape);  // `shape` describes one step
    ~StepClock();

    double predict_seconds(StepCosts costs);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Predicts the execution of programs that cover shape.steps steps, including the fill and drain of the
// pipeline. verify_programs() must accept the programs. Throws BugError if they deadlock, or if the costs do
// not fit the shape.
Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape, const StepCosts& costs);

}  // namespace trireme::schedule
