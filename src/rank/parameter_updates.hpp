// How a rank updates its parameters: it sums their gradients with other ranks, agrees on the norm with all of
// them, and applies the optimizer.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/comm/tally.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/rank/non_finite.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/state_moves.hpp"

namespace trireme::rank {

// The update after one step.
struct StepUpdate {
    double rate = 0;
    double squares = 0;           // the sum of the squared gradients that this rank reduces
    double scale = 1;             // clips the gradients of all ranks to the norm that is allowed
    bool is_judged = false;       // the norm is known
    bool is_skipped = false;      // loss or gradients are not finite, or an earlier step diverged
    bool is_rolled_back = false;  // it went ahead of the norm, was wrong, and was made again
};

class ParameterUpdates {
public:
    // Everything outlives it.
    ParameterUpdates(const setup::Job& job, const setup::PlanState& current, RankModel& model,
                     device::Stream& stream, device::Trace* trace);

    // Collective over all ranks, in the order of the steps. Steps count from 0 in each stretch.
    void begin_stretch();
    void add_step(double rate);
    // Posts this rank's loss and squared gradients of each step whose gradients have been reduced. Never waits.
    void contribute();
    // Updates the parameters of all stages. Where updates are validated, it does not wait for the norm, unless
    // the last one had to be scaled or skipped.
    void update(int step);
    // Returns whether the update of a step was right. One that was wrong has been replaced.
    bool validate(int step);
    // Takes the place of update() on a rank without a stage.
    void update_nothing();

    const StepUpdate& of(int step) const { return steps_[static_cast<std::size_t>(step - forgotten_)]; }
    void forget_first();  // of the steps that have been added

    // Reduces the gradients of a step that is repeated with value checks, and checks their norm.
    void check_gradients(kernels::ValueCheck& check);

    // Sets what is called before each update.
    void call_before_update(std::function<void()> call) { before_update_ = std::move(call); }
    // Sets the pruned channels, whose weights do not decay.
    void spare(optim::LeftOuts pruned) { spared_ = std::move(pruned); }
    // Hands over moments that arrive from other ranks until the next update.
    void await(std::unique_ptr<MomentJourney> moments);
    void finish_moments();

    optim::Optimizer* optimizer() {
        return optimizer_ ? &*optimizer_ : nullptr;
    }  // null: the rank has no stage
    const optim::Optimizer* optimizer() const { return optimizer_ ? &*optimizer_ : nullptr; }

private:
    StepUpdate& at(int step) { return steps_[static_cast<std::size_t>(step - forgotten_)]; }
    std::size_t copy_of(int step) const { return model_.stages().gradients_of(step); }
    void judge(StepUpdate& step);
    void apply(const StepUpdate& step, std::size_t copy);
    void take_back(const StepUpdate& step, std::size_t copy);

    const setup::Job& job_;
    const setup::PlanState& current_;
    RankModel& model_;
    device::Stream& stream_;
    device::Trace* trace_;
    comm::Tally norms_;
    // These are empty on a rank without a stage.
    std::vector<stage::GradientExchange> exchanges_;  // one for each copy of the gradients
    double sum_bytes_ = 0;                            // which the sums of a step read and write
    std::optional<optim::Optimizer> optimizer_;
    std::optional<device::Arena> scratch_;
    std::unique_ptr<MomentJourney> awaited_;    // null: the optimizer has its moments
    std::optional<device::TraceSpan> arrival_;  // of the moments
    optim::LeftOuts spared_;
    std::function<void()> before_update_ = [] {};

    std::deque<StepUpdate> steps_;  // that have been added and not forgotten
    int forgotten_ = 0;
    int contributed_ = 0;
    bool has_diverged_ = false;  // with --on-nan stop, no later step changes the parameters
    bool may_go_ahead_ = true;   // the last update that was judged was neither scaled nor skipped
};

// Takes what all ranks have posted. The trace shows the wait for them.
comm::Gathered take_traced(comm::Tally& tally, device::Trace* trace, const char* wait);

}  // namespace trireme::rank
