// Predicts how long programs take, for given costs: executes them with a clock.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Costs of one stage, in seconds or any other unit. A whole backward takes backward_input + backward_weight,
// and its gradient is sent at its end.
struct StageCost {
    double forward = 1;
    double backward_input = 1;
    double backward_weight = 1;
    double send = 0;    // from the send instruction to the arrival, once the receive is posted
    double reduce = 0;  // from the last team's REDUCE to the end of the reduction
    double step = 0;

    double pass() const { return forward + backward_input + backward_weight; }
};

// Factors that multiply the costs of compute instructions and STEPs, by stage and team. Empty if all are 1.
using TeamFactors = std::vector<std::vector<double>>;

struct Span {
    Instruction instruction;  // a compute instruction or a STEP
    double begin = 0;
    double end = 0;
};

struct Prediction {
    double makespan = 0;
    std::vector<double> busy;              // per team: time in compute instructions and STEPs
    std::vector<std::vector<Span>> spans;  // per team, in order
    std::vector<int> peak_activations;     // per team: see Proof

    double idle(std::size_t team) const { return makespan - busy[team]; }
    double bubble() const;  // 1 - mean busy / makespan
};

// The time of one step among many, once the pipeline is full. Any step of a synchronous schedule is such a
// step.
struct StepTime {
    double seconds = 0;
    std::vector<double> busy = {};  // per team: time in compute instructions and STEPs

    double idle(std::size_t team) const { return seconds - busy[team]; }
    double bubble() const;  // 1 - mean busy / seconds
};

// Predicts the time of a step. `costs` has one entry per stage; `shape` describes one step. Throws BugError if
// check() finds a fault in the programs.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const std::vector<StageCost>& costs,
                      const TeamFactors& factors = {});

// Predicts programs that cover shape.steps steps, from the first instruction to the last. Throws as above.
Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape,
                   const std::vector<StageCost>& costs, const TeamFactors& factors = {});

}  // namespace trireme::schedule
