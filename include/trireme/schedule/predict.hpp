// How long programs take, for given costs: the programs are executed with a clock.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Of one stage, in seconds or any unit. A whole backward is one act of backward_input + backward_weight, and
// its gradient leaves at its end.
struct StageCost {
    double forward = 1;
    double backward_input = 1;
    double backward_weight = 1;
    double send = 0;    // from the send instruction to the arrival, once the receive is posted
    double reduce = 0;  // from the last team's REDUCE to the end of the sum
    double step = 0;

    double pass() const { return forward + backward_input + backward_weight; }
};

// How many times as long each team takes to compute, by stage and team; empty: what costs say.
using TeamFactors = std::vector<std::vector<double>>;

struct Span {
    Instruction instruction;  // compute or step
    double begin = 0;
    double end = 0;
};

struct Prediction {
    double makespan = 0;
    std::vector<double> busy;              // per team: in compute and step
    std::vector<std::vector<Span>> spans;  // per team, in order
    std::vector<int> peak_activations;     // per team: see Proof

    double idle(std::size_t team) const { return makespan - busy[team]; }
    double bubble() const;  // 1 - mean busy / makespan
};

// One step among many, once the pipeline is full; of a synchronous schedule any step.
struct StepTime {
    double seconds = 0;
    std::vector<double> busy = {};  // per team: in compute and step

    double idle(std::size_t team) const { return seconds - busy[team]; }
    double bubble() const;  // 1 - mean busy / seconds
};

// `costs` has one entry for each stage; `shape` is of one step. Throws BugError for programs that check()
// refuses.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const std::vector<StageCost>& costs,
                      const TeamFactors& factors = {});

// Likewise; of programs that cover the shape's steps, from the first instruction to the last.
Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape,
                   const std::vector<StageCost>& costs, const TeamFactors& factors = {});

}  // namespace trireme::schedule
