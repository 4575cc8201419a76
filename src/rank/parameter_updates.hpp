// Updates a rank's parameters: reduces their gradients, agrees with other ranks on the global norm, and applies
// the optimizer.
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
    double rate = 0;              // learning rate
    double squares = 0;           // sum of squares of the gradients that this rank reduces
    double scale = 1;             // factor that clips the global gradient norm
    bool is_judged = false;       // the norm is known
    bool is_skipped = false;      // loss or gradients are not finite, or an earlier step diverged
    bool is_rolled_back = false;  // the speculative update was wrong, and has been rolled back and redone
};

class ParameterUpdates {
public:
    // All arguments must outlive this object.
    ParameterUpdates(const setup::Job& job, const setup::PlanState& current, RankModel& model,
                     device::Stream& stream, device::Trace* trace);

    // Collective over all ranks, in the order of the steps. Steps count from 0 in each segment.
    void begin_stretch();
    void add_step(double rate);
    // Posts this rank's loss and sum of squares for each step whose gradients have been reduced. Never waits.
    void contribute();
    // Updates the parameters of all stages. If updates are validated, the update is speculative and does not
    // wait for the norm, unless the last one was clipped or skipped.
    void update(int step);
    // Returns true if the speculative update was valid; otherwise it has been rolled back and redone.
    bool validate(int step);
    // Takes the place of update() on a rank without a stage.
    void update_nothing();

    const StepUpdate& of(int step) const { return steps_[static_cast<std::size_t>(step - forgotten_)]; }
    void forget_first();  // removes the earliest added step

    // Reduces the gradients of a step that is repeated with value checks, and checks their norm.
    void check_gradients(kernels::ValueCheck& check);

    // Sets a function that is called before each update.
    void call_before_update(std::function<void()> call) { before_update_ = std::move(call); }
    // Sets the skipped channels, whose weights do not decay.
    void spare(optim::LeftOuts pruned) { spared_ = std::move(pruned); }
    // Hands over moments that arrive from other ranks before the next update.
    void await(std::unique_ptr<MomentJourney> moments);
    // Waits until these moments have arrived.
    void finish_moments();

    optim::Optimizer* optimizer() {
        return optimizer_ ? &*optimizer_ : nullptr;
    }  // null if the rank has no stage
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
    std::vector<stage::GradientExchange> exchanges_;  // one per copy of the gradients
    double sum_bytes_ = 0;                            // bytes that the reductions of a step read and write
    std::optional<optim::Optimizer> optimizer_;
    std::optional<device::Arena> scratch_;
    std::unique_ptr<MomentJourney> awaited_;    // null if the optimizer has its moments
    std::optional<device::TraceSpan> arrival_;  // lasts until the moments have arrived
    optim::LeftOuts spared_;
    std::function<void()> before_update_ = [] {};

    std::deque<StepUpdate> steps_;  // added and not yet forgotten
    int forgotten_ = 0;
    int contributed_ = 0;
    bool has_diverged_ = false;  // with --on-nan stop, no later step changes the parameters
    bool may_go_ahead_ = true;   // the last judged update was neither clipped nor skipped
};

// Collective over the group of `tally`. Takes the numbers that all ranks have posted; the trace shows the wait.
comm::Gathered take_traced(comm::Tally& tally, device::Trace* trace, const char* wait);

}  // namespace trireme::rank
