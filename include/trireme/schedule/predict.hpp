// Predicts how long programs take, for given costs of stages, by an abstract execution with a clock.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Costs of one stage, in seconds or any other unit of time. `reduce` and `step` are costs per step; the other
// costs are per micro-batch. A backward that is not split takes backward_input + backward_weight, and its
// gradient is sent after both.
struct StageCost {
    double forward = 1;
    double backward_input = 1;
    double backward_weight = 1;
    // Duration of a message, from the start of its send or of its receive, whichever is later, to the arrival.
    double send = 0;
    double reduce = 0;  // from the latest REDUCE of all teams to the end of the reduction
    double step = 0;    // duration of a STEP

    double compute_pass_time() const { return forward + backward_input + backward_weight; }
    friend bool operator==(const StageCost&, const StageCost&) = default;
};

// The costs of one step, or of several consecutive steps.
class StepCosts {
public:
    // All micro-batches of a stage have equal costs. `stages` has one entry per stage.
    StepCosts(const std::vector<StageCost>& stages);
    // `costs` is indexed by [stage][micro-batch]. Its micro-batches are those of all steps, or those of one
    // step if all steps have equal costs. In each stage and step, the REDUCE and the STEP of a team
    // have the costs of the last micro-batch that the team executes. `empty_microbatches` has one entry per
    // micro-batch, which is true if the micro-batch has no samples. No team executes or sends such a
    // micro-batch, so it costs nothing. `empty_microbatches` may be omitted if all micro-batches have samples.
    explicit StepCosts(std::vector<std::vector<StageCost>> costs, std::vector<bool> empty_microbatches = {});

    std::size_t stages() const { return costs_.size(); }
    bool are_equal_for_all_microbatches() const { return costs_.front().size() == 1; }
    // True if every stage has equal costs for all micro-batches, or one cost per micro-batch of one step or of
    // `steps` steps. `empty_microbatches`, if given, must have one entry per micro-batch of one step or of
    // `steps` steps.
    bool fit_microbatches(int microbatches, int steps) const;
    bool has_empty_microbatches() const;
    // Micro-batches are numbered over all steps.
    bool is_empty(int microbatch) const;
    const StageCost& find(int stage, int microbatch) const;

private:
    // Indexed by [stage][micro-batch]; each stage has one entry if its costs are equal for all micro-batches.
    std::vector<std::vector<StageCost>> costs_;
    std::vector<bool> empty_microbatches_;  // no entries if all micro-batches have samples
};

// The waits of one team for optimizer state, by compute instruction. An instruction without an entry waits for
// nothing.
struct OffloadTimes {
    std::map<Instruction, double> begins = {};   // least time from the begin of the step to the instruction
    std::map<Instruction, double> returns = {};  // least time from the end of the instruction to the update
    double update = 0;                           // least time from the begin of the step to the update

    // Return the time of an instruction; 0 if it has no entry.
    double find_begin(const Instruction& instruction) const;
    double find_return(const Instruction& instruction) const;
    void merge(const OffloadTimes& other);  // keeps the longer one of the times of both objects
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
    // [team][step]: the time at which the team has done its STEPs and VALIDATEs; no steps for forward-only
    // programs.
    std::vector<std::vector<double>> step_ends = {};

    double compute_idle_time(std::size_t team) const { return makespan - busy_times[team]; }
    double compute_bubble() const;  // 1 - mean of busy_times / makespan
};

// The time of one step among many, once the pipeline is full. In a synchronous schedule all steps take this
// time.
struct StepTime {
    double seconds = 0;                   // in seconds, or in the other unit of the costs
    std::vector<double> busy_times = {};  // per team: time in compute instructions and STEPs

    double compute_idle_time(std::size_t team) const { return seconds - busy_times[team]; }
    double compute_bubble() const;  // 1 - mean of busy_times / seconds
};

// Predicts the time of a step; `shape` describes one step. verify_programs() must accept the programs of
// `phases`. Throws BugError if they deadlock, or if the costs do not fit the shape.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const StepCosts& costs);

// Predicts the times of consecutive steps; `steps` has the costs of each step. For each team, the time of a
// step is from the end of the previous step to the end of the step; Prediction::step_ends defines these ends.
// The result has the time of the slowest team for each step. If steps overlap, teams begin a step at different
// times, and the time of the first step includes the filling of the pipeline. Overlapping steps are predicted
// as if more steps followed, with the costs of the last step. `shape` describes one step. Throws the errors
// of predict_step().
std::vector<double> predict_steps(const Phases& phases, const PipelineShape& shape,
                                  const std::vector<StepCosts>& steps);

// Predicts the time of a single step, which begins and ends with an empty pipeline, for many different costs.
// No message waits for a buffer. Unlike in predict(), REDUCEs and STEPs have the costs of the first
// micro-batch.
class StepClock {
public:
    StepClock(const Phases& phases, const PipelineShape& shape);  // `shape` describes one step
    ~StepClock();

    // `offloads` has the waits for optimizer state by team; teams without an entry do not wait.
    double predict_seconds(StepCosts costs, const std::vector<OffloadTimes>& offloads = {});

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Predicts the execution of programs that cover shape.steps steps, including the fill and drain of the
// pipeline. verify_programs() must accept the programs. Throws BugError if they deadlock, or if the costs do
// not fit the shape.
Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape, const StepCosts& costs);

}  // namespace trireme::schedule
