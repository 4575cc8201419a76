// Predicts how long programs take, for given costs of stages, by an abstract execution with a clock.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "trireme/schedule/costs.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

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
    int mhz = 0;               // clock that a CLOCK has set; 0 if there was none
    double input_arrival = 0;  // of the message that the instruction reads; 0 if it reads none
};

struct Prediction {
    double makespan = 0;             // from the first instruction to the end of the last one, over all teams
    std::vector<double> busy_times;  // per team: time in compute instructions and STEPs
    std::vector<std::vector<Span>> spans;  // per team, in the order of execution
    // [team][step]: the time at which the team has done its STEPs and VALIDATEs; no steps for forward-only
    // programs.
    std::vector<std::vector<double>> step_ends = {};
    std::vector<double> joules = {};  // per team: of all its devices; empty if StepCosts has no clocks

    double compute_idle_time(std::size_t team) const { return makespan - busy_times[team]; }
    double compute_bubble() const;  // 1 - mean of busy_times / makespan
};

// The time of one step among many, once the pipeline is full. In a synchronous schedule all steps take this
// time.
struct StepTime {
    double seconds = 0;                   // in seconds, or in the other unit of the costs
    std::vector<double> busy_times = {};  // per team: time in compute instructions and STEPs
    std::vector<double> joules = {};      // see Prediction

    double compute_idle_time(std::size_t team) const { return seconds - busy_times[team]; }
    double compute_bubble() const;  // 1 - mean of busy_times / seconds
};

// Predicts the time of a step; `shape` describes one step. verify_programs() must accept the programs of
// `phases`. Throws BugError if they deadlock, or if the costs do not fit the shape.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const StepCosts& costs);

// Returns the least joules of each team, over all its devices, for the passes of a step in a time of `seconds`,
// if the devices ran slower instead of waiting and could change the clock within a pass. `costs` must have
// clocks.
std::vector<double> find_min_joules(const Phases& phases, const PipelineShape& shape, const StepCosts& costs,
                                    double seconds);

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
