// The times of compute instructions if no message waits for a buffer, as predict() computes them for channels
// with enough slots. In contrast to predict(), this clock also accepts programs without messages, and
// incomplete ones.
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

// The arrival of the input of a compute instruction at a team, which may execute the instruction from then on.
struct Delivery {
    int team = -1;     // the team that may execute `work`; -1 if there is no delivery
    double time = 0;   // time of the arrival
    Instruction work;  // a forward, or a backward, which the team may replace by an input half
};

// The instructions of a team run in the order in which they are passed to execute(). Calls for different teams
// may have any order in which the input of an instruction is computed before the instruction is passed.
class ProgramClock {
public:
    // All arguments are kept by reference. `costs` has one entry per stage.
    ProgramClock(const PipelineShape& shape, const StageHoldings& holdings,
                 const std::vector<StageCost>& costs);

    void reset();  // sets all times to 0 and forgets all executed instructions

    // Returns the time at which the team has done all its instructions so far.
    double find_free_time(int team) const { return free_times_[static_cast<std::size_t>(team)]; }

    // Returns the time at which the activation or gradient that a compute instruction reads arrives, or `never`
    // if it has not been computed yet. Returns 0 for a weight half, which reads neither. Assumes that the
    // stashed activations that the instruction needs are available.
    double find_ready_time(const Instruction& instruction) const;

    // Executes the instruction as soon as the team is free and the input has arrived. find_ready_time() must
    // not be `never`. Returns the delivery of the result to the next instruction that reads it.
    Delivery execute(int team, const Instruction& instruction);

    // Returns the end time of the step, including reductions and updates. Must be called after all
    // instructions.
    double compute_end() const;

private:
    double find_cost(const Instruction& instruction) const;
    Delivery find_delivery(int team, const Instruction& instruction);
    double compute_arrival_time(int team, int stage, const Instruction& work);
    double compute_reductions_end() const;

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    const std::vector<StageCost>& costs_;
    std::vector<double> free_times_;            // per team
    std::vector<double> forward_ready_times_;   // per pass
    std::vector<double> backward_ready_times_;  // per pass
    std::vector<double> backward_end_times_;    // per holding: end of the last backward or weight half so far
    // The channel that carries an input of a pass, if another team computes the input. The index is 2 * pass
    // for the activation, and 2 * pass + 1 for the gradient.
    std::vector<std::size_t> channel_of_input_;
    std::vector<double> last_arrival_times_;  // per channel
};

// Returns the duration of a step for programs of compute instructions, or `never` if they deadlock.
double compute_duration(const std::vector<Program>& programs, ProgramClock& clock);

}  // namespace trireme::schedule
