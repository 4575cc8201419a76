// The times of compute instructions if no message waits for a buffer: the clock of predict() for channels with
// enough slots. It also serves programs that are not lowered or still being made.
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
    int team = -1;  // -1 if no work has become possible
    double time = 0;
    Instruction work;
};

// The instructions of a team run in the order in which they are passed to execute(). Teams may come in any
// order that gives each instruction its input.
class ProgramClock {
public:
    // All arguments are kept by reference. `costs` has one entry per stage.
    ProgramClock(const PipelineShape& shape, const StageHoldings& holdings,
                 const std::vector<StageCost>& costs);

    void begin_again();

    // Returns the time at which the team has done all its instructions so far.
    double time_of(int team) const { return times_[static_cast<std::size_t>(team)]; }

    // Returns the time at which the input of a compute instruction is available, or `never` if it has not been
    // made yet. What the same stage keeps of the micro-batch is assumed to be available.
    double ready(const Instruction& instruction) const;

    // Executes the instruction as soon as the team is free and the input available; ready() must not be
    // `never`.
    Delivery execute(int team, const Instruction& instruction);

    // Returns the end of the step, including reductions and updates. Called after all instructions.
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
    std::vector<double> backward_ready_;  // per cell
    std::vector<double> backward_done_;   // per holding: end of its last backward so far
    std::vector<std::size_t> channel_;    // per cell and kind: of the message that it reads, if there is one
    std::vector<double> last_arrival_;    // per channel
};

// Returns the duration of a step for programs of compute instructions, or `never` if they get stuck.
double duration_of(const std::vector<Program>& programs, ProgramClock& clock);

}  // namespace trireme::schedule
