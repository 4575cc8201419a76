#include "trireme/stage/local_stages.hpp"

#include <algorithm>

#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::stage {

struct LocalStages::Passage {
    std::unique_ptr<Flight> flight = nullptr;
    device::Tensor output = {};       // (own rows, width), in the flight's memory
    device::Tensor input = {};        // (own rows, width), in a row buffer; only if it is received
    device::Tensor grad_output = {};  // (own rows, width), in a row buffer; only if it is received
    device::Tensor grad_input = {};   // (own rows, width), in a row buffer, for the stage before
    bool is_through = false;          // forward and backward passes are done
};

struct LocalStages::StepState {
    StepWork work;
    std::map<int, model::LossState> outcomes = {};            // per finished micro-batch of the step
    std::map<int, schedule::Instruction> last_backward = {};  // per stage: completes its gradients
    std::vector<std::size_t> uses_left = {};  // per parameter: layers whose gradients are missing
};

namespace {

std::vector<Stage> make_stages(const LocalWork& work) {
    std::vector<Stage> stages;
    for (const StageSpec& spec : work.specs) stages.emplace_back(work.model, spec);
    return stages;
}

std::vector<model::ParameterSpec> parameters_of(const std::vector<Stage>& stages) {
    std::vector<model::ParameterSpec> all;
    for (const Stage& stage : stages) {
        for (model::ParameterSpec& spec : stage.parameters()) all.push_back(std::move(spec));
    }
    return all;
}

}  // namespace

LocalStages::LocalStages(const LocalWork& work, comm::Communicator* group, bool cuts_rows,
                         device::MemorySpace place)
    : work_(work),
      stages_(make_stages(work)),
      parameters_(parameters_of(stages_), work.dtype, place, work.copies),
      workspace_(work.memory, place),
      rows_(work.most_rows, work.model.width, work.dtype, place),
      flights_(work.memory.activations, place),
      place_(place) {
    all_uses_.assign(parameters_.specs().size(), 0);
    for (Stage& stage : stages_) {
        stage.bind(parameters_);
        for (const std::size_t parameter : stage.parameter_uses()) ++all_uses_[parameter];
    }
    if (group != nullptr) {
        group_ = std::make_unique<model::TensorGroup>(
            model::TensorGroup{.ranks = *group, .exchange = workspace_.exchange, .cuts_rows = cuts_rows});
    }
}

LocalStages::~LocalStages() = default;

void LocalStages::rebalance(const model::Rebalancing& rebalancing) {
    for (Stage& stage : stages_) stage.rebalance(rebalancing);
    if (ghosts_) ghosts_->rebalance(rebalancing);
}

void LocalStages::work_in(const StageMemory& memory) {
    flights_ = FlightPool(memory.activations, place_);
    workspace_ = Workspace(memory, place_);
}

void LocalStages::rehearse(device::Stream& stream, const model::TokenBatch& batch, bool in_halves) {
    const model::Pass pass{.stream = stream,
                           .batch = batch,
                           .scratch = workspace_.scratch,
                           .dtype = work_.dtype,
                           .is_training = true,
                           .group = group_.get()};
    ghosts_->rehearse(stages_, work_.stages, pass, in_halves);
}

const Stage& LocalStages::stage(int number) const {
    const auto at = std::find(work_.stages.begin(), work_.stages.end(), number);
    return stages_[static_cast<std::size_t>(at - work_.stages.begin())];
}

void LocalStages::begin(device::Stream& stream, const Round& round) {
    stream_ = &stream;
    round_ = &round;
    passages_.clear();
    steps_.clear();
    reduces_made_.clear();
    steps_made_.clear();
    steps_added_ = 0;
    gradients_opened_ = 0;
    updates_ = 0;
    validated_ = 0;
}

void LocalStages::add_step(StepWork work) {
    const int first = steps_added_ * round_->shape.microbatches;
    StepState& state = steps_.emplace(steps_added_++, StepState{.work = std::move(work)}).first->second;
    state.uses_left = all_uses_;
    for (schedule::Instruction instruction : round_->program) {
        const bool leaves =
            instruction.op == schedule::Op::backward || instruction.op == schedule::Op::backward_weight;
        instruction.microbatch += first;
        if (leaves && rows(instruction.microbatch) > 0) state.last_backward[instruction.stage] = instruction;
    }
}

bool LocalStages::has_summed(int step) const {
    if (exchanges_ == nullptr || reduces_made_.size() < stages_.size()) return false;
    const bool is_reduced =
        std::ranges::all_of(reduces_made_, [&](const auto& made) { return made.second > step; });
    return is_reduced && steps_.contains(step) && (*exchanges_)[gradients_of(step)].is_finished();
}

const std::map<int, model::LossState>& LocalStages::outcomes(int step) const {
    return steps_.at(step).outcomes;
}

std::map<int, model::LossState> LocalStages::take_outcomes(int step) {
    return std::move(steps_.extract(step).mapped().outcomes);
}

std::size_t LocalStages::rows(int microbatch) const {
    const auto step = steps_.find(round_->shape.step_of(microbatch));
    if (step == steps_.end()) return 0;
    const auto in_step = static_cast<std::size_t>(microbatch % round_->shape.microbatches);
    const model::TokenBatch* const batch = step->second.work.batches[in_step];
    return batch == nullptr ? 0 : batch->rows();
}

model::Pass LocalStages::pass_of(int microbatch) {
    const StepWork& work = steps_.at(round_->shape.step_of(microbatch)).work;
    return {.stream = *stream_,
            .batch = *work.batches[static_cast<std::size_t>(microbatch % round_->shape.microbatches)],
            .scratch = workspace_.scratch,
            .dtype = work_.dtype,
            .is_training = round_->shape.is_training,
            .dropout_key = round_->dropout_key,
            .loss_scale = work.loss_scale,
            .label_smoothing = round_->label_smoothing,
            .group = group_.get()};
}

device::Tensor LocalStages::place_for(const schedule::Instruction& receive) {
    Passage& passage = passages_[{receive.stage, receive.microbatch}];
    device::Tensor& place = receive.op == schedule::Op::receive_forward ? passage.input : passage.grad_output;
    place = rows_.take(own_rows(pass_of(receive.microbatch)).count);
    return place;
}

device::ConstTensor LocalStages::result_for(const schedule::Instruction& send) {
    const Passage& passage = passages_.at({send.stage, send.microbatch});
    return send.op == schedule::Op::send_forward ? passage.output : passage.grad_input;
}

void LocalStages::sent(const schedule::Instruction& send) {
    const Key key{send.stage, send.microbatch};
    Passage& passage = passages_.at(key);
    if (send.op == schedule::Op::send_backward) {
        give_back(passage.grad_input);
        forget_if_over(key);
    } else if (!round_->shape.is_training) {
        release_flight(passage);
    }
}

void LocalStages::run(const schedule::Instruction& instruction) {
    if (has_microbatch(instruction.op) && rows(instruction.microbatch) == 0) return;
    if (stream_->check != nullptr) {
        stream_->check->begin_pass(instruction.stage, instruction.microbatch % round_->shape.microbatches,
                                   instruction.op != schedule::Op::forward);
    }
    switch (instruction.op) {
        case schedule::Op::forward:
            forward(instruction);
            break;
        case schedule::Op::backward:
        case schedule::Op::backward_input:
        case schedule::Op::backward_weight:
            backward(instruction);
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
            throw BugError(
                cat("a worker was asked to run ", to_string(instruction), ", which is the engine's to do"));
    }
    stream_->slowness.settle();
}

// Returns the output of the stage before, which was computed here or received.
device::ConstTensor LocalStages::input_of(const schedule::Instruction& instruction) {
    const auto [op, number, microbatch, age] = instruction;
    if (stage(number).is_first()) return {};
    if (is_here(number - 1, microbatch)) return passages_.at({number - 1, microbatch}).output;
    return passages_.at({number, microbatch}).input;
}

void LocalStages::forward(const schedule::Instruction& instruction) {
    const device::ConstTensor input = input_of(instruction);
    Passage& passage = passages_[{instruction.stage, instruction.microbatch}];
    passage.flight = flights_.take();
    passage.flight->weights = weights_of(instruction);
    const Stage& own = stage(instruction.stage);
    const model::Pass pass = pass_of(instruction.microbatch);
    passage.output = ghosts_ ? ghosts_->forward({instruction, own, pass, *passage.flight, events_}, input)
                             : own.forward(pass, input, *passage.flight, workspace_, events_);
    if (!round_->shape.is_training) finish_forward(instruction, passage);
}

// There will be no backward pass: releases what has been read and what no stage will read.
void LocalStages::finish_forward(const schedule::Instruction& instruction, Passage& passage) {
    const auto [op, number, microbatch, age] = instruction;
    give_back(passage.input);
    if (number > 0 && is_here(number - 1, microbatch)) {
        release_flight(passages_.at({number - 1, microbatch}));
    }
    if (!stage(number).is_last()) return;
    note_outcome(microbatch, stage(number), *passage.flight);
    release_flight(passage);
}

device::ConstTensor LocalStages::grad_output_of(const schedule::Instruction& instruction) {
    const auto [op, number, microbatch, age] = instruction;
    if (stage(number).is_last()) return {};
    if (is_here(number + 1, microbatch)) return passages_.at({number + 1, microbatch}).grad_input;
    return passages_.at({number, microbatch}).grad_output;
}

device::Tensor LocalStages::grad_input_of(const schedule::Instruction& instruction) {
    if (stage(instruction.stage).is_first()) return {};
    device::Tensor& place = passages_.at({instruction.stage, instruction.microbatch}).grad_input;
    place = rows_.take(own_rows(pass_of(instruction.microbatch)).count);
    return place;
}

// Returns the newest weights (copy 0) or an older copy; never older than the first weights of the round.
std::size_t LocalStages::weights_of(const schedule::Instruction& instruction) const {
    const int version = std::max(0, updates_ - instruction.age);
    return version == updates_ ? 0 : parameters_.old_copy(version);
}

// Steps use the gradient copies in turn; a copy is free again after the update of its step.
void LocalStages::open_gradients(int step) {
    for (; gradients_opened_ <= step; ++gradients_opened_) {
        const std::size_t copy = gradients_of(gradients_opened_);
        launch(*stream_, kernels::Fill{.output = parameters_.gradients(copy).all(), .value = 0});
        if (exchanges_ != nullptr) (*exchanges_)[copy].begin(gradients_opened_ == updates_);
    }
}

Flight& LocalStages::flight_for_backward(const schedule::Instruction& instruction) {
    open_gradients(step_of(instruction));
    Flight& flight = *passages_.at({instruction.stage, instruction.microbatch}).flight;
    flight.weights = weights_of(instruction);
    flight.gradients = gradients_of(step_of(instruction));
    return flight;
}

// Runs a whole backward pass or one of its halves.
void LocalStages::backward(const schedule::Instruction& instruction) {
    const auto [op, number, microbatch, age] = instruction;
    const Stage& own = stage(number);
    const model::Pass pass = pass_of(microbatch);
    Flight& flight = flight_for_backward(instruction);
    const bool has_input_half = op != schedule::Op::backward_weight;
    const device::ConstTensor grad_output =
        has_input_half ? grad_output_of(instruction) : device::ConstTensor{};
    const device::Tensor grad_input = has_input_half ? grad_input_of(instruction) : device::Tensor{};
    listen(instruction);
    if (ghosts_) {
        ghosts_->backward({instruction, own, pass, flight, events_, leaves_gradients(instruction)}, grad_output,
                          grad_input);
    } else if (op == schedule::Op::backward) {
        own.backward(pass, grad_output, grad_input, flight, workspace_, events_);
    } else if (op == schedule::Op::backward_input) {
        own.backward_input(pass, grad_output, grad_input, flight, events_);
    } else {
        own.backward_weight(pass, flight, events_);
    }
    if (has_input_half && own.is_last()) note_outcome(microbatch, own, flight);
    if (op != schedule::Op::backward_input) release_inputs(instruction);
}

// A pass that was charged as a whole has no states.
void LocalStages::note_outcome(int microbatch, const Stage& last, const Flight& flight) {
    model::LossState& outcome =
        steps_.at(round_->shape.step_of(microbatch)).outcomes[microbatch % round_->shape.microbatches];
    if (!flight.states.empty()) outcome = last.outcome(flight);
}

void LocalStages::release_inputs(const schedule::Instruction& instruction) {
    const auto [op, number, microbatch, age] = instruction;
    Passage& passage = passages_.at({number, microbatch});
    give_back(passage.input);
    give_back(passage.grad_output);
    if (!stage(number).is_last() && is_here(number + 1, microbatch)) {
        const Key behind{number + 1, microbatch};
        give_back(passages_.at(behind).grad_input);
        forget_if_over(behind);
    }
    release_flight(passage);
    passage.is_through = true;
    forget_if_over({number, microbatch});
}

// Releases a row buffer, if one was taken. A rank without own rows has taken one, too.
void LocalStages::give_back(device::Tensor& place) {
    if (place.data != nullptr) rows_.give_back(place);
    place = {};
}

void LocalStages::release_flight(Passage& passage) { flights_.give_back(std::move(passage.flight)); }

// Forgets a micro-batch whose passes are done and whose gradient has been sent or read.
void LocalStages::forget_if_over(const Key& key) {
    const auto passage = passages_.find(key);
    if (passage->second.is_through && passage->second.grad_input.data == nullptr) passages_.erase(passage);
}

// The last backward pass of a stage in a step completes its gradients; others only progress messages.
bool LocalStages::leaves_gradients(const schedule::Instruction& backward) const {
    const schedule::Instruction& last = steps_.at(step_of(backward)).last_backward.at(backward.stage);
    return last.op == backward.op && last.microbatch == backward.microbatch;
}

void LocalStages::listen(const schedule::Instruction& backward) {
    const int step = step_of(backward);
    events_.left = [this, is_last = leaves_gradients(backward), step](const auto& parameters) {
        if (is_last) {
            leave(step, parameters);
        } else if (exchanges_ != nullptr) {
            (*exchanges_)[gradients_of(updates_)].advance();
        }
    };
}

void LocalStages::leave(int step, const std::vector<std::size_t>& parameters) {
    std::vector<std::size_t> complete;
    for (const std::size_t parameter : parameters) {
        if (--steps_.at(step).uses_left[parameter] == 0) complete.push_back(parameter);
    }
    if (exchanges_ != nullptr) (*exchanges_)[gradients_of(step)].complete(complete);
}

// The gradients of a stage without micro-batches are complete without a backward pass.
void LocalStages::reduce(int number) {
    const int step = reduces_made_[number]++;
    if (step >= steps_added_) return;  // the round has no such step
    open_gradients(step);
    if (!steps_.at(step).last_backward.contains(number)) leave(step, stage(number).parameter_uses());
}

// The STEPs of a step are adjacent in the program, at its end: the first one updates all stages.
void LocalStages::step(int number) {
    const int step = steps_made_[number]++;
    if (step < updates_) return;
    if (parameters_.copies().values > 1) {
        const device::Tensor old = parameters_.values(parameters_.old_copy(updates_)).all();
        launch(*stream_, kernels::Copy{.input = parameters_.values().all(), .output = old});
    }
    if (round_->events != nullptr) round_->events->update(step);
    ++updates_;
    if (exchanges_ != nullptr && gradients_opened_ > updates_)
        (*exchanges_)[gradients_of(updates_)].may_start();
}

// The VALIDATEs of a step are adjacent too: the first one validates all stages.
bool LocalStages::stands(const schedule::Instruction&) {
    if (validated_ == updates_) return true;
    const bool stands = round_->events == nullptr || round_->events->validate(validated_);
    ++validated_;
    stream_->slowness.settle();
    return stands;
}

void LocalStages::undo(const schedule::Instruction& forward) {
    Passage passage = std::move(passages_.extract({forward.stage, forward.microbatch}).mapped());
    give_back(passage.input);
    release_flight(passage);
}

}  // namespace trireme::stage
