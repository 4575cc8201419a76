// When compute instructions run, where no message waits for a buffer: the clock of predict() for channels with
// slots enough, for programs that have not been lowered, or are only being made.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "schedule/programs/stage_holdings.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

inline constexpr double never = std::numeric_limits<double>::infinity();

// Work that has become possible at a team: a forward, or a backward (or its input half).
struct Delivery {
    int team = -1;  // nobody: there is no stage behind
    double time = 0;
    Instruction work;
};

// The instructions of a team follow one another in the order in which they are executed here; teams may come in
// any order that gives each instruction its input.
class ProgramClock {
public:
    // All are kept by reference; `costs` has one entry for each stage.
    ProgramClock(const PipelineShape& shape, const StageHoldings& holdings,
                 const std::vector<StageCost>& costs);

    void begin_again();

    // When the team has done what it has been given.
    double time_of(int team) const { return times_[static_cast<std::size_t>(team)]; }

    // When the input of a compute instruction is there, as far as other instructions than those of the same
    // micro-batch and stage give it; never: they have not been executed yet.
    double ready(const Instruction& instruction) const;

    // As soon as the team is free and the input there, which must be known.
    Delivery execute(int team, const Instruction& instruction);

    // Of the step, when all has been executed: the sums of gradients and the updates follow.
    double end() const;

private:
    double cost_of(const Instruction& instruction) const;
    Delivery delivery_of(int team, const Instruction& instruction);
    double arrival(int team, int stage, const Instruction& work);
    double end_of_sums() const;

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    const std::vector<StageCost>& costs_;
    std::vector<double> times_;           // per team
    std::vector<double> forward_ready_;   // per cell
    std::vector<double> backward_ready_;  // likewise
    std::vector<double> backward_done_;   // per holding: until now
    std::vector<std::size_t> channel_;    // per cell and kind, of the message that it reads; none: of no use
    std::vector<double> last_arrival_;    // per channel
};

// How long a step takes; never: the programs, of compute instructions, cannot be executed to their end.
double duration_of(const std::vector<Program>& programs, ProgramClock& clock);

}  // namespace trireme::schedule
