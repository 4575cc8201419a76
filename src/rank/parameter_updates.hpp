// Updates the parameters of a rank's stages: reduces their gradients, computes the global gradient norm
// together with the other ranks, and applies the optimizer.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/comm/step_gather.hpp"
#include "trireme/device/offload_store.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/rank/non_finite.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/state_moves.hpp"

namespace trireme::rank {

// The update of one step.
struct StepUpdate {
    double learning_rate = 0;
    double square_sum = 0;  // sum of squares of this rank's shards of the reduced gradients
    // The part of `square_sum` in each block; empty if no policy needs it.
    std::vector<double> block_squares = {};
    double clip_scale = 1;       // factor that clips the global gradient norm
    bool is_norm_known = false;  // the global norm, `clip_scale` and `is_skipped` are known
    // There is no update, because loss or gradients are not finite, or because an earlier step diverged.
    bool is_skipped = false;
    // The speculative update was invalid and has been rolled back; it has been redone unless `is_skipped`.
    bool is_rolled_back = false;
};

class ParameterUpdates {
public:
    // All arguments must outlive this object. `trace` may be null.
    ParameterUpdates(const setup::Job& job, const setup::PlanState& current, RankModel& model,
                     device::Stream& stream, device::Trace* trace);

    // The functions from here to join_update() are called in the order of the steps, which are numbered from 0
    // in each segment. A rank that trains no stage calls only begin_segment(), add_step() and the last two.
    void begin_segment();
    void add_step(double learning_rate);
    // Posts this rank's loss and sum of squares of each step whose gradients have been reduced since the last
    // call. Progresses a move of moments if there is one. Never waits.
    void post_norms();
    // Waits for the reduced gradients, then updates the parameters of all stages. If the schedule has
    // speculative updates, does not wait for the global norm, unless the last known norm required clipping or
    // skipping.
    void update(int step);
    // Waits for the global norm of a step whose update was speculative. Returns true if the update was valid;
    // otherwise rolls it back, redoes it unless it must be skipped, and returns false. Returns true at once if
    // the update was not speculative. The result is equal on all ranks.
    bool validate(int step);
    // Called instead of update() on a rank that trains no stage, before and after it executes a step. Other
    // ranks wait for its zeros, so it posts them first; then it waits for the global norm.
    void post_no_norm();
    void join_update();

    const StepUpdate& find_update(int step) const {
        return steps_[static_cast<std::size_t>(step - forgotten_steps_)];
    }
    void forget_first();  // removes the earliest added step

    // Waits for the reduced gradients of a step that is repeated with value checks, and checks their values
    // with `check`, the value check of the stream.
    void check_gradients(kernels::ValueCheck& check);

    // Sets a function that is called before each update.
    void set_before_update_callback(std::function<void()> call) { before_update_ = std::move(call); }
    void call_before_update() { before_update_(); }
    // Sets the pruned channels, whose weights get no weight decay.
    void exempt_from_decay(optim::SkippedChannelMap pruned) { undecayed_channels_ = std::move(pruned); }
    // Hands over a move of moments from other ranks. The next update waits until the move is complete.
    void await_moments(std::unique_ptr<OptimizerStateMove> moments);
    // Waits until the move is complete; no-op without a move.
    void finish_moments();

    // Reserves the memory to which steps may offload optimizer state, and moves this state into the block with
    // the buffers of a step. No-op if no state may be offloaded. On a CPU, the memory is a file in `folder`.
    void prepare_offload(const std::filesystem::path& folder);
    bool may_offload() const { return offload_store_ != nullptr; }
    // Returns the bytes of gradients that this rank has sent since the last call.
    std::size_t take_sent_bytes();
    // See RankTrainer::take_state().
    RankState take_state();

    // Null on an idle rank.
    optim::Optimizer* optimizer() { return optimizer_ ? &*optimizer_ : nullptr; }
    const optim::Optimizer* optimizer() const { return optimizer_ ? &*optimizer_ : nullptr; }

private:
    StepUpdate& find_mutable_update(int step) {
        return steps_[static_cast<std::size_t>(step - forgotten_steps_)];
    }
    std::size_t find_gradient_copy_index(int step) const { return model_.stages().find_gradient_copy(step); }
    void sum_squares(StepUpdate& step, std::size_t copy);
    void receive_norm(StepUpdate& step);
    void apply(const StepUpdate& step, std::size_t copy);
    void roll_back(const StepUpdate& step, std::size_t copy);

    const setup::Job& job_;
    const setup::PlanState& current_;
    RankModel& model_;
    device::Stream& stream_;
    device::Trace* trace_;
    comm::StepGather norm_gather_;
    // The next five members are empty or 0 on an idle rank.
    std::vector<stage::GradientExchange> exchanges_;  // one per copy of the gradients
    double sum_bytes_ = 0;  // bytes that this rank reads and writes to sum gradients in a step
    std::optional<optim::Optimizer> optimizer_;
    std::unique_ptr<device::OffloadStore> offload_store_;  // null before prepare_offload(), or without offload
    std::optional<device::Arena> scratch_;                 // for sums of squares
    // The block of each of the rank's shards, if a policy needs the gradient norms of blocks; otherwise empty.
    std::vector<std::optional<std::size_t>> shard_blocks_;
    std::unique_ptr<OptimizerStateMove> awaited_moments_;  // null if the next update awaits no move
    std::optional<device::TraceSpan> arrival_span_;        // traces this move until it is complete
    optim::SkippedChannelMap undecayed_channels_;
    std::function<void()> before_update_ = [] {};

    std::deque<StepUpdate> steps_;  // steps that were added and not removed by forget_first()
    int forgotten_steps_ = 0;       // number of steps that were removed from steps_
    int posted_steps_ = 0;          // number of steps whose norms were posted
    bool has_diverged_ = false;     // a step was not finite under --on-nan stop, so later updates are skipped
    bool may_speculate_ = true;     // the last known norm required neither clipping nor skipping
};

// Collective over the group of `gather`. Returns the next numbers that all ranks have posted. `trace` records
// the wait under the name `wait`.
comm::GatheredNumbers take_traced(comm::StepGather& gather, device::Trace* trace, const char* wait);

}  // namespace trireme::rank
