// Updates the parameters of a rank's stages: reduces their gradients, computes the global gradient norm
// together with the other ranks, and applies the optimizer.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/comm/step_gather.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/rank/non_finite.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/state_moves.hpp"

namespace trireme::rank {

// The update after one step.
struct StepUpdate {
    double learning_rate = 0;
    double square_sum = 0;       // sum of squares of this rank's shards of the reduced gradients
    double clip_scale = 1;       // factor that clips the global gradient norm
    bool is_norm_known = false;  // the global norm, `clip_scale` and `is_skipped` are known
    // No update, because loss or gradients are not finite, or an earlier step diverged.
    bool is_skipped = false;
    bool is_rolled_back = false;  // the speculative update was wrong, so it has been rolled back and redone
};

class ParameterUpdates {
public:
    // All arguments must outlive this object.
    ParameterUpdates(const setup::Job& job, const setup::PlanState& current, RankModel& model,
                     device::Stream& stream, device::Trace* trace);

    // The functions from here to join_update() are called in the order of the steps, which are numbered from 0
    // in each segment. A rank without a stage calls only begin_segment(), add_step() and join_update().
    void begin_segment();
    void add_step(double learning_rate);
    // Posts this rank's loss and sum of squares for each step whose gradients have been reduced. Never waits.
    void post_norms();
    // Updates the parameters of all stages. If the schedule has speculative updates, does not wait for the
    // global norm, unless the last known norm required clipping or skipping.
    void update(int step);
    // Waits for the global norm of a step whose update was speculative. Returns true if the update was right;
    // otherwise rolls it back, redoes it unless it must be skipped, and returns false.
    bool validate(int step);
    // Called instead of update() on a rank without a stage.
    void join_update();

    const StepUpdate& find_update(int step) const {
        return steps_[static_cast<std::size_t>(step - forgotten_steps_)];
    }
    void forget_first();  // removes the earliest added step

    // Reduces the gradients of a step that is repeated with value checks, and lets `check` read the reduced
    // gradients.
    void check_gradients(kernels::ValueCheck& check);

    // Sets a function that is called before each update.
    void set_before_update_callback(std::function<void()> call) { before_update_ = std::move(call); }
    // Sets the pruned channels, whose weights get no weight decay.
    void exempt_from_decay(optim::SkippedChannelMap pruned) { undecayed_channels_ = std::move(pruned); }
    // Hands over a move of moments from other ranks, which continues until the next update.
    void await_moments(std::unique_ptr<OptimizerStateMove> moments);
    // Waits until this move is complete.
    void finish_moments();

    // Null if the rank has no stage.
    optim::Optimizer* optimizer() { return optimizer_ ? &*optimizer_ : nullptr; }
    const optim::Optimizer* optimizer() const { return optimizer_ ? &*optimizer_ : nullptr; }

private:
    StepUpdate& mutable_update(int step) { return steps_[static_cast<std::size_t>(step - forgotten_steps_)]; }
    std::size_t find_copy(int step) const { return model_.stages().find_gradient_copy(step); }
    void receive_norm(StepUpdate& step);
    void apply(const StepUpdate& step, std::size_t copy);
    void roll_back(const StepUpdate& step, std::size_t copy);

    const setup::Job& job_;
    const setup::PlanState& current_;
    RankModel& model_;
    device::Stream& stream_;
    device::Trace* trace_;
    comm::StepGather norm_gather_;
    // The next four members are empty or 0 on a rank without a stage.
    std::vector<stage::GradientExchange> exchanges_;  // one per copy of the gradients
    double sum_bytes_ = 0;  // bytes that a rank reads and writes to sum gradients in a step
    std::optional<optim::Optimizer> optimizer_;
    std::optional<device::Arena> scratch_;
    std::unique_ptr<OptimizerStateMove> awaited_moments_;  // null unless moments are moving
    std::optional<device::TraceSpan> arrival_span_;        // traces this move until it is complete
    optim::SkippedChannelMap undecayed_channels_;
    std::function<void()> before_update_ = [] {};

    std::deque<StepUpdate> steps_;  // added and not yet forgotten
    int forgotten_steps_ = 0;       // number of steps that were removed from steps_
    int posted_steps_ = 0;          // number of steps whose norms were posted
    bool has_diverged_ = false;     // with --on-nan stop, no later step changes the parameters
    bool may_speculate_ = true;     // the last known norm required neither clipping nor skipping
};

// Collective over the group of `gather`. Returns the next numbers that all ranks have posted. `trace` records
// the wait under the name `wait`.
comm::GatheredNumbers take_traced(comm::StepGather& gather, device::Trace* trace, const char* wait);

}  // namespace trireme::rank
