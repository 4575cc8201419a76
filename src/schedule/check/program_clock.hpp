// Computes the times of compute instructions under the assumption that no message waits for a buffer. The times
// are those of predict() for channels with enough slots. In contrast to predict(), the clock needs no sends and
// receives, and the programs may be incomplete.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "schedule/programs/stage_holdings.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// The time of an event that does not occur.
inline constexpr double never = std::numeric_limits<double>::infinity();

// The arrival of the input of a compute instruction. From this time on, the team may execute the instruction.
struct Delivery {
    int team = -1;     // the team that may execute `work`; -1 if there is no delivery
    double time = 0;   // time of the arrival, in the unit of StageCost
    Instruction work;  // a forward; or a backward, in place of which the team may execute an input half
};

// A clock of one step, in which each STEP waits for the reductions of all stages. A team runs its compute
// instructions in the order of the calls of execute(). The calls for different teams may have any order in
// which an instruction that computes an input precedes the instruction that reads it.
class ProgramClock {
public:
    // `shape`, which describes one step, and `holdings` are kept by reference.
    ProgramClock(const PipelineShape& shape, const StageHoldings& holdings, StepCosts costs);

    void set_costs(StepCosts costs) { costs_ = std::move(costs); }

    // Sets the waits for optimizer state: one entry per team, or fewer. `offloads` is kept by reference until
    // the next call.
    void set_offloads(std::span<const OffloadTimes> offloads) { offloads_ = offloads; }

    void reset();  // sets all times to 0 and forgets all executed instructions

    // Returns the end time of the last instruction that the team has executed; 0 before the first.
    double find_free_time(int team) const { return free_times_[static_cast<std::size_t>(team)]; }

    // Returns the arrival time of the activation or gradient that a compute instruction reads. Returns `never`
    // if this input has not been computed yet. Returns 0 for a weight half and for a forward of stage 0, which
    // read no such input. Does not check that the team has stashed the activations that the instruction needs.
    double find_ready_time(const Instruction& instruction) const;

    // Executes the compute instruction as soon as the team is free and the input has arrived; find_ready_time()
    // must not be `never`. Returns the delivery of the result to the instruction that reads it. In training,
    // the backward of the last stage reads the result of the forward of this stage.
    Delivery execute(int team, const Instruction& instruction);

    // Returns the end time of the step, in training including reductions and updates. Must be called after all
    // compute instructions of the step have been executed.
    double compute_end() const;

private:
    Delivery deliver_result(int team, const Instruction& instruction);
    double compute_arrival_time(int team, int stage, const Instruction& work);
    double compute_reductions_end() const;

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    StepCosts costs_;
    std::span<const OffloadTimes> offloads_ = {};
    std::vector<double> free_times_;            // per team: see find_free_time()
    std::vector<double> state_return_times_;    // per team: return of the offloaded optimizer state
    std::vector<double> forward_ready_times_;   // per pass: arrival of the activation, or `never`
    std::vector<double> backward_ready_times_;  // per pass: arrival of the gradient, or `never`
    std::vector<double> backward_end_times_;    // per holding: end of its latest backward or weight half
    // The channel that carries an input of a pass, if another team computes the input. The index is 2 * pass
    // for the activation, and 2 * pass + 1 for the gradient.
    std::vector<std::size_t> channel_of_input_;
    std::vector<double> last_arrival_times_;  // per channel: arrival of its latest message
};

// Resets the clock and returns the duration of a step, or `never` if the programs deadlock. `programs` has the
// compute instructions of one step, per team.
double compute_duration(const std::vector<Program>& programs, ProgramClock& clock);

}  // namespace trireme::schedule
