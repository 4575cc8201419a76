// Predicts how long programs take, for given costs of stages, by an abstract execution with a clock.
#pragma once

#include <cstddef>
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
};

// Factors that multiply the costs of compute instructions and STEPs: [stage][team]. Empty if all factors are 1.
using TeamSlowdowns = std::vector<std::vector<double>>;

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
    std::vector<int> peak_activations;     // per team; see Proof in check.hpp

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

// Predicts the time of a step. `costs` has one entry per stage; `shape` describes one step. Throws BugError if
// verify_programs() finds a fault in the programs of `phases`.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const std::vector<StageCost>& costs,
                      const TeamSlowdowns& slowdowns = {});

// Predicts the execution of programs that cover shape.steps steps, including the fill and drain of the
// pipeline. Throws BugError if verify_programs() finds a fault in the programs.
Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape,
                   const std::vector<StageCost>& costs, const TeamSlowdowns& slowdowns = {});

}  // namespace trireme::schedule
