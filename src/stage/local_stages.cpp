#include "trireme/stage/local_stages.hpp"

#include <algorithm>

#include "stage/step_gradients.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::stage {

// All tensors are (own rows, width). `output` is in the stash, and the other tensors have buffers of their own.
struct LocalStages::InFlightMicrobatch {
    std::unique_ptr<ActivationStash> stash = nullptr;  // null before the forward pass
    device::Tensor output = {};                        // absent in the last stage
    device::Tensor input = {};                         // absent unless another team sends it
    device::Tensor grad_output = {};                   // absent unless another team sends it
    device::Tensor grad_input = {};                    // absent in the first stage
    bool are_passes_done = false;                      // forward and backward passes are done
};

struct LocalStages::StepState {
    StepWork work;
    std::map<int, model::LossState> outcomes = {};  // losses, by number of the micro-batch within the step
    StepGradients gradients{};
};

LocalStages::LocalStages(const LocalWork& work, comm::Communicator* group, device::MemorySpace memory_space,
                         std::optional<model::ParameterTensors> values)
    : work_(work),
      stages_(make_stages(work)),
      parameters_(make_local_parameters(work, memory_space, std::move(values))),
      buffers_(work, memory_space) {
    uses_per_parameter_.assign(parameters_.specs().size(), 0);
    for (Stage& stage : stages_) {
        stage.bind(parameters_);
        for (const std::size_t parameter : stage.list_trained_parameter_uses())
            ++uses_per_parameter_[parameter];
    }
    if (group != nullptr)
        group_ = std::make_unique<model::TensorGroup>(
            model::TensorGroup{*group, buffers_.workspace().exchange, work.variant.cuts_rows});
}

LocalStages::~LocalStages() = default;

void LocalStages::rebalance(const model::Rebalancing& rebalancing) {
    for (Stage& stage : stages_) stage.rebalance(rebalancing);
    if (ghosts_) ghosts_->rebalance(rebalancing);
}

void LocalStages::change_memory(const LocalWork& work) {
    work_ = work;
    buffers_.change(work);
}

void LocalStages::rehearse(device::Stream& stream, const model::TokenBatch& batch, bool splits_backward) {
    const model::Pass pass{.stream = stream,
                           .batch = batch,
                           .scratch = buffers_.workspace().scratch,
                           .dtype = work_.variant.dtype,
                           .is_training = true,
                           .group = group_.get()};
    ghosts_->rehearse(stages_, work_.stages, pass, splits_backward);
}

const Stage& LocalStages::find_stage(int stage_index) const {
    const auto found = std::find(work_.stages.begin(), work_.stages.end(), stage_index);
    return stages_[static_cast<std::size_t>(found - work_.stages.begin())];
}

void LocalStages::begin(device::Stream& stream, const Execution& execution) {
    stream_ = &stream;
    execution_ = &execution;
    buffers_.begin(execution.program, execution.shape);
    in_flight_.clear();
    steps_.clear();
    executed_reduces_.clear();
    executed_steps_.clear();
    steps_added_ = 0;
    cleared_steps_ = 0;
    executed_updates_ = 0;
    validated_updates_ = 0;
}

void LocalStages::add_step(StepWork work) {
    buffers_.add_step(work);
    const int first_microbatch = steps_added_ * execution_->shape.microbatches;
    StepState& state = steps_.emplace(steps_added_++, StepState{.work = std::move(work)}).first->second;
    state.gradients = StepGradients(uses_per_parameter_);
    for (schedule::Instruction next : execution_->program) {
        next.microbatch += first_microbatch;
        if (has_microbatch(next.op) && count_rows(next.microbatch) > 0) state.gradients.add_pass(next);
    }
}

bool LocalStages::has_reduced_gradients(int step) const {
    const auto trained_stages = static_cast<std::size_t>(std::ranges::count_if(stages_, &Stage::is_trained));
    if (exchanges_ == nullptr || trained_stages == 0 || executed_reduces_.size() < trained_stages) return false;
    const bool has_reduced =
        std::ranges::all_of(executed_reduces_, [&](const auto& executed) { return executed.second > step; });
    return has_reduced && steps_.contains(step) && (*exchanges_)[find_gradient_copy(step)].is_finished();
}

const std::map<int, model::LossState>& LocalStages::outcomes(int step) const {
    return steps_.at(step).outcomes;
}

std::map<int, model::LossState> LocalStages::take_outcomes(int step) {
    buffers_.forget_step(step);
    return std::move(steps_.extract(step).mapped().outcomes);
}

std::size_t LocalStages::count_rows(int microbatch) const {
    const auto step = steps_.find(execution_->shape.find_step(microbatch));
    if (step == steps_.end()) return 0;
    const model::TokenBatch* const batch = step->second.work.batches[find_index_in_step(microbatch)];
    return batch == nullptr ? 0 : batch->rows();
}

model::Pass LocalStages::make_pass(int microbatch) {
    const StepWork& work = steps_.at(execution_->shape.find_step(microbatch)).work;
    return {.stream = *stream_,
            .batch = *work.batches[find_index_in_step(microbatch)],
            .scratch = buffers_.workspace().scratch,
            .dtype = work_.variant.dtype,
            .is_training = execution_->shape.is_training,
            .dropout_key = execution_->dropout_key,
            .loss_scale = work.loss_scale,
            .label_smoothing = execution_->label_smoothing,
            .group = group_.get()};
}

device::Tensor LocalStages::provide_receive_buffer(const schedule::Instruction& receive) {
    InFlightMicrobatch& owner = in_flight_[{receive.stage, receive.microbatch}];
    device::Tensor& buffer = receive.op == schedule::Op::receive_forward ? owner.input : owner.grad_output;
    return buffer = buffers_.take_rows(receive, find_own_rows(make_pass(receive.microbatch)).count);
}

device::ConstTensor LocalStages::find_send_buffer(const schedule::Instruction& send) {
    const InFlightMicrobatch& in_flight = in_flight_.at({send.stage, send.microbatch});
    return send.op == schedule::Op::send_forward ? in_flight.output : in_flight.grad_input;
}

void LocalStages::finish_send(const schedule::Instruction& send) {
    const Key key{send.stage, send.microbatch};
    InFlightMicrobatch& in_flight = in_flight_.at(key);
    if (send.op == schedule::Op::send_backward) {
        buffers_.give_back(in_flight.grad_input);
        erase_if_done(key);
    } else if (!execution_->shape.trains(send.stage)) {
        buffers_.give_back(in_flight.stash);
        in_flight_.erase(key);
    }
}

void LocalStages::run(const schedule::Instruction& instruction) {
    if (has_microbatch(instruction.op) && count_rows(instruction.microbatch) == 0) return;
    if (stream_->check != nullptr) {
        stream_->check->begin_pass(instruction.stage, instruction.microbatch % execution_->shape.microbatches,
                                   instruction.op != schedule::Op::forward);
    }
    switch (instruction.op) {
        case schedule::Op::forward:
        case schedule::Op::backward:
        case schedule::Op::backward_input:
        case schedule::Op::backward_weight:
            compute(instruction);
            break;
        case schedule::Op::reduce:
            reduce(instruction.stage);
            break;
        case schedule::Op::step:
            step(instruction.stage);
            break;
        case schedule::Op::send_forward:
        case schedule::Op::receive_forward:
        case schedule::Op::send_backward:
        case schedule::Op::receive_backward:
        case schedule::Op::validate:
        case schedule::Op::set_clock:
            throw BugError(
                cat("a stage worker was given ", to_string(instruction), ", which the engine must execute"));
    }
    stream_->slowness.spend_owed_time();
}

void LocalStages::compute(const schedule::Instruction& instruction) {
    buffers_.begin_pass(instruction);
    try {
        instruction.op == schedule::Op::forward ? forward(instruction) : backward(instruction);
    } catch (const device::ArenaOverflow& overflow) {
        throw BugError(
            cat("rank ", work_.rank, " exceeds its memory in ", to_string(instruction), ": ", overflow.what()));
    }
    buffers_.end_pass();
}

// Returns the output of the previous stage, computed or received by this rank; absent in the first stage.
device::ConstTensor LocalStages::find_input(const schedule::Instruction& instruction) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    if (find_stage(stage).is_first()) return {};
    if (is_executed_here(stage - 1, microbatch)) return in_flight_.at({stage - 1, microbatch}).output;
    return in_flight_.at({stage, microbatch}).input;
}

void LocalStages::forward(const schedule::Instruction& instruction) {
    const device::ConstTensor input = find_input(instruction);
    InFlightMicrobatch& in_flight = in_flight_[{instruction.stage, instruction.microbatch}];
    in_flight.stash = buffers_.take_stash(instruction);
    in_flight.stash->levels = plan::find_levels(steps_.at(find_step(instruction)).work.levels,
                                                find_index_in_step(instruction.microbatch), instruction.stage);
    in_flight.stash->weight_copy = find_weight_copy(instruction);
    const Stage& stage = find_stage(instruction.stage);
    const model::Pass pass = make_pass(instruction.microbatch);
    const bool uses_cache = execution_->cache && stage.ends_frozen_layers() && stream_->check == nullptr;
    in_flight.output = ghosts_ ? ghosts_->forward({instruction, stage, pass, *in_flight.stash, events_}, input)
                               : stage.forward(pass, input, *in_flight.stash, buffers_.workspace(), events_,
                                               uses_cache ? &*execution_->cache : nullptr);
    if (!execution_->shape.trains(instruction.stage)) finish_untrained_pass(instruction, in_flight);
}

// Ends a forward pass that no backward pass follows, in an evaluation or in a frozen stage: records its results
// and releases buffers that no later pass reads.
void LocalStages::finish_untrained_pass(const schedule::Instruction& forward, InFlightMicrobatch& in_flight) {
    const auto [op, stage, microbatch, age, mhz] = forward;
    buffers_.give_back(in_flight.input);
    release_output(stage - 1, microbatch);
    if (!find_stage(stage).is_last()) return;
    record_outcome(microbatch, find_stage(stage), *in_flight.stash);
    buffers_.give_back(in_flight.stash);
    in_flight_.erase({stage, microbatch});
}

// Releases the output of a stage without backward passes that this rank has not sent, because it also executes
// the next stage.
void LocalStages::release_output(int stage, int microbatch) {
    if (stage < 0 || !is_executed_here(stage, microbatch)) return;
    buffers_.give_back(in_flight_.at({stage, microbatch}).stash);
    in_flight_.erase({stage, microbatch});
}

device::ConstTensor LocalStages::find_grad_output(const schedule::Instruction& instruction) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    if (find_stage(stage).is_last()) return {};
    if (is_executed_here(stage + 1, microbatch)) return in_flight_.at({stage + 1, microbatch}).grad_input;
    return in_flight_.at({stage, microbatch}).grad_output;
}

device::Tensor LocalStages::take_grad_input(const schedule::Instruction& instruction) {
    if (find_stage(instruction.stage).is_first_trained()) return {};
    device::Tensor& buffer = in_flight_.at({instruction.stage, instruction.microbatch}).grad_input;
    return buffer = buffers_.take_rows(instruction, find_own_rows(make_pass(instruction.microbatch)).count);
}

// Returns the index of the copy with the weights of `instruction.age` updates ago. If this execution has made
// fewer updates, returns the copy with the weights at the beginning of the execution.
std::size_t LocalStages::find_weight_copy(const schedule::Instruction& instruction) const {
    const int version = std::max(0, executed_updates_ - instruction.age);
    return version == executed_updates_ ? 0 : parameters_.find_old_copy(version);
}

// Clears the gradient copies of all uncleared steps up to and including `step`. Steps use the copies in turn.
void LocalStages::clear_gradient_copies(int step) {
    for (; cleared_steps_ <= step; ++cleared_steps_) {
        const std::size_t copy = find_gradient_copy(cleared_steps_);
        launch(*stream_, kernels::Fill{.output = parameters_.gradients(copy).all(), .value = 0});
        if (exchanges_ != nullptr) (*exchanges_)[copy].begin_step(cleared_steps_ == executed_updates_);
    }
}

ActivationStash& LocalStages::prepare_stash_for_backward(const schedule::Instruction& instruction) {
    clear_gradient_copies(find_step(instruction));
    ActivationStash& stash = *in_flight_.at({instruction.stage, instruction.microbatch}).stash;
    stash.weight_copy = find_weight_copy(instruction);
    stash.gradient_copy = find_gradient_copy(find_step(instruction));
    return stash;
}

void LocalStages::backward(const schedule::Instruction& backward) {
    const auto [op, stage_index, microbatch, age, mhz] = backward;
    const Stage& stage = find_stage(stage_index);
    const model::Pass pass = make_pass(microbatch);
    ActivationStash& stash = prepare_stash_for_backward(backward);
    const bool has_input_half = op != schedule::Op::backward_weight;
    const device::ConstTensor grad_output = has_input_half ? find_grad_output(backward) : device::ConstTensor{};
    const device::Tensor grad_input = has_input_half ? take_grad_input(backward) : device::Tensor{};
    const bool is_last = steps_.at(find_step(backward)).gradients.is_last(backward);
    set_gradient_callback(find_step(backward), is_last);
    if (ghosts_) {
        ghosts_->backward({backward, stage, pass, stash, events_, is_last}, grad_output, grad_input);
    } else if (op == schedule::Op::backward) {
        stage.backward(pass, grad_output, grad_input, stash, buffers_.workspace(), events_);
    } else if (op == schedule::Op::backward_input) {
        stage.backward_input(pass, grad_output, grad_input, stash, events_);
    } else {
        stage.backward_weight(pass, stash, events_);
    }
    if (has_input_half && stage.is_last()) record_outcome(microbatch, stage, stash);
    if (op != schedule::Op::backward_input) finish_backward(backward);
}

// Records the results of stage `last`. The results stay 0 if a ghost pass was charged as a whole.
void LocalStages::record_outcome(int microbatch, const Stage& last, const ActivationStash& stash) {
    model::LossState& outcome = steps_.at(execution_->shape.find_step(microbatch))
                                    .outcomes[microbatch % execution_->shape.microbatches];
    if (!stash.states.empty()) outcome = last.outcome(stash);
}

void LocalStages::finish_backward(const schedule::Instruction& backward) {
    const auto [op, stage, microbatch, age, mhz] = backward;
    InFlightMicrobatch& in_flight = in_flight_.at({stage, microbatch});
    buffers_.give_back(in_flight.input);
    buffers_.give_back(in_flight.grad_output);
    if (!find_stage(stage).is_last() && is_executed_here(stage + 1, microbatch)) {
        const Key next_stage{stage + 1, microbatch};
        buffers_.give_back(in_flight_.at(next_stage).grad_input);
        erase_if_done(next_stage);
    }
    buffers_.give_back(in_flight.stash);
    if (find_stage(stage).is_first_trained()) release_output(stage - 1, microbatch);
    in_flight.are_passes_done = true;
    erase_if_done({stage, microbatch});
}

// Forgets a micro-batch in a stage if its passes are done and its input gradient has been sent or read.
void LocalStages::erase_if_done(const Key& key) {
    const auto found = in_flight_.find(key);
    if (found->second.are_passes_done && found->second.grad_input.data == nullptr) in_flight_.erase(found);
}

void LocalStages::set_gradient_callback(int step, bool is_last) {
    events_.after_layer_gradients = [this, is_last, step](const auto& indices) {
        if (is_last) {
            complete_parameters(step, indices);
        } else if (exchanges_ != nullptr) {
            (*exchanges_)[find_gradient_copy(executed_updates_)].progress();
        }
    };
}

void LocalStages::complete_parameters(int step, const std::vector<std::size_t>& parameters) {
    const std::vector<std::size_t> completed = steps_.at(step).gradients.complete(parameters);
    if (exchanges_ != nullptr) (*exchanges_)[find_gradient_copy(step)].mark_complete(completed);
}

// Executes a REDUCE. If the stage had no backward pass in the step, the REDUCE completes the stage's gradients.
void LocalStages::reduce(int stage) {
    const int step = executed_reduces_[stage]++;
    if (step >= steps_added_) return;  // programs may reach past the last step of the execution
    clear_gradient_copies(step);
    if (!steps_.at(step).gradients.has_backward(stage))
        complete_parameters(step, find_stage(stage).list_trained_parameter_uses());
}

// The STEPs of a step are adjacent in a program: the first one updates all stages, the others do nothing.
void LocalStages::step(int stage) {
    const int step = executed_steps_[stage]++;
    if (step < executed_updates_) return;
    if (parameters_.copy_counts().values > 1) {
        const device::Tensor old = parameters_.values(parameters_.find_old_copy(executed_updates_)).all();
        launch(*stream_, kernels::Copy{.input = parameters_.values().all(), .output = old});
    }
    if (execution_->events != nullptr) execution_->events->update(step);
    ++executed_updates_;
    if (exchanges_ != nullptr && cleared_steps_ > executed_updates_)
        (*exchanges_)[find_gradient_copy(executed_updates_)].allow_start();
}

// The VALIDATEs of a step are adjacent in a program: the first validates all stages, the others do nothing.
bool LocalStages::validate_update(const schedule::Instruction&) {
    if (validated_updates_ == executed_updates_) return true;
    const bool is_valid = execution_->events == nullptr || execution_->events->validate(validated_updates_);
    ++validated_updates_;
    stream_->slowness.spend_owed_time();
    return is_valid;
}

void LocalStages::discard_forward(const schedule::Instruction& forward) {
    InFlightMicrobatch in_flight = std::move(in_flight_.extract({forward.stage, forward.microbatch}).mapped());
    buffers_.give_back(in_flight.input);
    buffers_.give_back(in_flight.stash);
}

}  // namespace trireme::stage
