#include "trireme/stage/local_stages.hpp"

#include <algorithm>

#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme {

struct LocalStages::Passage {
    std::unique_ptr<Flight> flight = nullptr;
    Tensor output = {};       // (own rows, width), in the flight
    Tensor input = {};        // likewise, in a row buffer: it came by message
    Tensor grad_output = {};  // likewise
    Tensor grad_input = {};   // in a row buffer, on its way to the stage before
    bool is_through = false;  // forward and back
};

struct LocalStages::StepState {
    StepWork work;
    std::map<int, LossState> outcomes = {};         // per micro-batch of the step that has ended here
    std::map<int, Instruction> last_backward = {};  // per stage: what leaves its gradients complete
    std::vector<std::size_t> uses_left = {};        // per parameter: layers whose gradients are still to come
};

namespace {

std::vector<Stage> make_stages(const LocalWork& work) {
    std::vector<Stage> stages;
    for (const StageSpec& spec : work.specs) stages.emplace_back(work.model, spec);
    return stages;
}

std::vector<ParameterSpec> parameters_of(const std::vector<Stage>& stages) {
    std::vector<ParameterSpec> all;
    for (const Stage& stage : stages) {
        for (ParameterSpec& spec : stage.parameters()) all.push_back(std::move(spec));
    }
    return all;
}

}  // namespace

LocalStages::LocalStages(const LocalWork& work, Communicator* group, bool cuts_rows, Place place)
    : work_(work),
      stages_(make_stages(work)),
      parameters_(parameters_of(stages_), work.dtype, place, work.copies),
      workspace_(work.memory, place),
      passes_(workspace_),
      rows_(work.most_rows, work.model.width, work.dtype, place),
      place_(place) {
    all_uses_.assign(parameters_.specs().size(), 0);
    for (Stage& stage : stages_) {
        stage.bind(parameters_);
        for (const std::size_t parameter : stage.parameter_uses()) ++all_uses_[parameter];
    }
    if (group != nullptr) {
        group_ = std::make_unique<TensorGroup>(
            TensorGroup{.ranks = *group, .exchange = workspace_.exchange, .cuts_rows = cuts_rows});
    }
}

LocalStages::~LocalStages() = default;

const Stage& LocalStages::stage(int number) const {
    const auto at = std::find(work_.stages.begin(), work_.stages.end(), number);
    return stages_[static_cast<std::size_t>(at - work_.stages.begin())];
}

bool LocalStages::is_here(int stage, int micro_batch) const {
    return round_->shape.executor_of(stage, micro_batch) == work_.team;
}

void LocalStages::begin(Stream& stream, const Round& round) {
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
    const int first = steps_added_ * round_->shape.micro_batches;
    StepState& state = steps_.emplace(steps_added_++, StepState{.work = std::move(work)}).first->second;
    state.uses_left = all_uses_;
    for (Instruction instruction : round_->program) {
        const bool leaves = instruction.op == Op::backward || instruction.op == Op::backward_weight;
        instruction.micro_batch += first;
        if (leaves && rows(instruction.micro_batch) > 0) state.last_backward[instruction.stage] = instruction;
    }
}

bool LocalStages::has_summed(int step) const {
    if (exchanges_ == nullptr || reduces_made_.size() < stages_.size()) return false;
    const bool is_reduced =
        std::ranges::all_of(reduces_made_, [&](const auto& made) { return made.second > step; });
    return is_reduced && steps_.contains(step) && (*exchanges_)[gradients_of(step)].is_finished();
}

const std::map<int, LossState>& LocalStages::outcomes(int step) const { return steps_.at(step).outcomes; }

std::map<int, LossState> LocalStages::take_outcomes(int step) {
    return std::move(steps_.extract(step).mapped().outcomes);
}

std::size_t LocalStages::gradients_of(int step) const {
    return static_cast<std::size_t>(step) % parameters_.copies().gradients;
}

std::size_t LocalStages::rows(int micro_batch) const {
    const auto step = steps_.find(round_->shape.step_of(micro_batch));
    if (step == steps_.end()) return 0;
    const auto in_step = static_cast<std::size_t>(micro_batch % round_->shape.micro_batches);
    const TokenBatch* const batch = step->second.work.batches[in_step];
    return batch == nullptr ? 0 : batch->rows();
}

Pass LocalStages::pass_of(int micro_batch) {
    const StepWork& work = steps_.at(round_->shape.step_of(micro_batch)).work;
    return {.stream = *stream_,
            .batch = *work.batches[static_cast<std::size_t>(micro_batch % round_->shape.micro_batches)],
            .scratch = workspace_.scratch,
            .dtype = work_.dtype,
            .is_training = round_->shape.is_training,
            .dropout_key = round_->dropout_key,
            .loss_scale = work.loss_scale,
            .label_smoothing = round_->label_smoothing,
            .group = group_.get(),
            .resizing = resizing_,
            .helped = helped_,
            .progress = &progress_};
}

Tensor LocalStages::place_for(const Instruction& receive) {
    Passage& passage = passages_[{receive.stage, receive.micro_batch}];
    Tensor& place = receive.op == Op::receive_forward ? passage.input : passage.grad_output;
    place = rows_.take(own_rows(pass_of(receive.micro_batch)).count);
    return place;
}

ConstTensor LocalStages::result_for(const Instruction& send) {
    const Passage& passage = passages_.at({send.stage, send.micro_batch});
    return send.op == Op::send_forward ? passage.output : passage.grad_input;
}

void LocalStages::sent(const Instruction& send) {
    const Key key{send.stage, send.micro_batch};
    Passage& passage = passages_.at(key);
    if (send.op == Op::send_backward) {
        give_back(passage.grad_input);
        forget_if_over(key);
    } else if (!round_->shape.is_training) {
        release_flight(passage);
    }
}

void LocalStages::run(const Instruction& instruction) {
    if (has_micro_batch(instruction.op) && rows(instruction.micro_batch) == 0) return;
    if (stream_->check != nullptr) {
        stream_->check->begin_pass(instruction.stage, instruction.micro_batch % round_->shape.micro_batches,
                                   instruction.op != Op::forward);
    }
    execute(instruction);
    stream_->slowness.settle();
}

void LocalStages::execute(const Instruction& instruction) {
    switch (instruction.op) {
        case Op::forward:
            return forward(instruction);
        case Op::backward:
            return backward(instruction);
        case Op::backward_input:
            return backward_input(instruction);
        case Op::backward_weight:
            return backward_weight(instruction);
        case Op::reduce:
            return reduce(instruction.stage);
        case Op::step:
            return step(instruction.stage);
        case Op::send_forward:
        case Op::receive_forward:
        case Op::send_backward:
        case Op::receive_backward:
        case Op::validate:
            break;
    }
    throw BugError(cat("a worker was asked to run ", text_of(instruction), ", which is the engine's to do"));
}

// From the stage before: made here, or come by message.
ConstTensor LocalStages::input_of(const Instruction& instruction) {
    const auto [op, number, micro_batch, age] = instruction;
    if (stage(number).is_first()) return {};
    if (is_here(number - 1, micro_batch)) return passages_.at({number - 1, micro_batch}).output;
    return passages_.at({number, micro_batch}).input;
}

void LocalStages::forward(const Instruction& instruction) {
    const ConstTensor input = input_of(instruction);
    Passage& passage = passages_[{instruction.stage, instruction.micro_batch}];
    if (free_flights_.empty()) make_flight();
    passage.flight = std::move(free_flights_.back());
    free_flights_.pop_back();
    passage.flight->weights = weights_of(instruction);
    passage.output = passes_.forward(stage(instruction.stage), instruction.stage,
                                     pass_of(instruction.micro_batch), input, *passage.flight);
    if (!round_->shape.is_training) finish_forward(instruction, passage);
}

// Nothing will come back this way: what was read is released, and so is what nobody will read.
void LocalStages::finish_forward(const Instruction& instruction, Passage& passage) {
    const auto [op, number, micro_batch, age] = instruction;
    give_back(passage.input);
    if (number > 0 && is_here(number - 1, micro_batch)) {
        release_flight(passages_.at({number - 1, micro_batch}));
    }
    if (!stage(number).is_last()) return;
    outcome_of(micro_batch) = PassRunner::outcome(stage(number), *passage.flight);
    release_flight(passage);
}

ConstTensor LocalStages::grad_output_of(const Instruction& instruction) {
    const auto [op, number, micro_batch, age] = instruction;
    if (stage(number).is_last()) return {};
    if (is_here(number + 1, micro_batch)) return passages_.at({number + 1, micro_batch}).grad_input;
    return passages_.at({number, micro_batch}).grad_output;
}

Tensor LocalStages::grad_input_of(const Instruction& instruction, Passage& passage) {
    if (stage(instruction.stage).is_first()) return {};
    passage.grad_input = rows_.take(own_rows(pass_of(instruction.micro_batch)).count);
    return passage.grad_input;
}

// The newest weights, or older ones of which a copy has been kept; never older than the round's first.
std::size_t LocalStages::weights_of(const Instruction& instruction) const {
    const int version = std::max(0, updates_ - instruction.age);
    const auto old_copies = static_cast<int>(parameters_.copies().values) - 1;
    return version == updates_ ? 0 : static_cast<std::size_t>(1 + version % old_copies);
}

void LocalStages::keep_old_weights() {
    const auto old_copies = static_cast<int>(parameters_.copies().values) - 1;
    if (old_copies == 0) return;
    const auto copy = static_cast<std::size_t>(1 + updates_ % old_copies);
    launch(*stream_, Copy{.input = parameters_.values().all(), .output = parameters_.values(copy).all()});
}

// Steps' gradients have copies in turn; a step's is free again when it has been updated.
void LocalStages::open_gradients(int step) {
    for (; gradients_opened_ <= step; ++gradients_opened_) {
        const std::size_t copy = gradients_of(gradients_opened_);
        launch(*stream_, Fill{.output = parameters_.gradients(copy).all(), .value = 0});
        if (exchanges_ != nullptr) (*exchanges_)[copy].begin(gradients_opened_ == updates_);
    }
}

Flight& LocalStages::flight_for_backward(const Instruction& instruction) {
    open_gradients(step_of(instruction));
    Flight& flight = *passages_.at({instruction.stage, instruction.micro_batch}).flight;
    flight.weights = weights_of(instruction);
    flight.gradients = gradients_of(step_of(instruction));
    return flight;
}

void LocalStages::backward(const Instruction& instruction) {
    Passage& passage = passages_.at({instruction.stage, instruction.micro_batch});
    const Stage& own = stage(instruction.stage);
    Flight& flight = flight_for_backward(instruction);
    const Tensor grad_input = grad_input_of(instruction, passage);
    passes_.backward(own, instruction.stage, pass_of(instruction.micro_batch), grad_output_of(instruction),
                     grad_input, flight, listener(instruction), leaves_gradients(instruction));
    if (own.is_last()) outcome_of(instruction.micro_batch) = PassRunner::outcome(own, flight);
    release_inputs(instruction);
}

void LocalStages::backward_input(const Instruction& instruction) {
    Passage& passage = passages_.at({instruction.stage, instruction.micro_batch});
    const Stage& own = stage(instruction.stage);
    Flight& flight = flight_for_backward(instruction);
    const Tensor grad_input = grad_input_of(instruction, passage);
    passes_.backward_input(own, instruction.stage, pass_of(instruction.micro_batch),
                           grad_output_of(instruction), grad_input, flight);
    if (own.is_last()) outcome_of(instruction.micro_batch) = PassRunner::outcome(own, flight);
}

void LocalStages::backward_weight(const Instruction& instruction) {
    Flight& flight = flight_for_backward(instruction);
    passes_.backward_weight(stage(instruction.stage), instruction.stage, pass_of(instruction.micro_batch),
                            flight, listener(instruction), leaves_gradients(instruction));
    release_inputs(instruction);
}

LossState& LocalStages::outcome_of(int micro_batch) {
    return steps_.at(round_->shape.step_of(micro_batch)).outcomes[micro_batch % round_->shape.micro_batches];
}

void LocalStages::release_inputs(const Instruction& instruction) {
    const auto [op, number, micro_batch, age] = instruction;
    Passage& passage = passages_.at({number, micro_batch});
    give_back(passage.input);
    give_back(passage.grad_output);
    if (!stage(number).is_last() && is_here(number + 1, micro_batch)) {
        const Key behind{number + 1, micro_batch};
        give_back(passages_.at(behind).grad_input);
        forget_if_over(behind);
    }
    release_flight(passage);
    passage.is_through = true;
    forget_if_over({number, micro_batch});
}

// What came by message, if anything did: a rank without own rows has been given a place, too.
void LocalStages::give_back(Tensor& place) {
    if (place.data != nullptr) rows_.give_back(place);
    place = {};
}

void LocalStages::release_flight(Passage& passage) {
    passage.flight->clear();
    free_flights_.push_back(std::move(passage.flight));
}

// Whose gradient has been read, too.
void LocalStages::forget_if_over(const Key& key) {
    const auto passage = passages_.find(key);
    if (passage->second.is_through && passage->second.grad_input.data == nullptr) passages_.erase(passage);
}

// The last backward pass of a stage does; the others only let messages go on.
bool LocalStages::leaves_gradients(const Instruction& backward) const {
    const Instruction& last = steps_.at(step_of(backward)).last_backward.at(backward.stage);
    return last.op == backward.op && last.micro_batch == backward.micro_batch;
}

LayerLeft LocalStages::listener(const Instruction& backward) {
    const int step = step_of(backward);
    return [this, is_last = leaves_gradients(backward), step](const std::vector<std::size_t>& parameters) {
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

// A stage that no micro-batch has passed is complete as it is.
void LocalStages::reduce(int number) {
    const int step = reduces_made_[number]++;
    if (step >= steps_added_) return;  // of a step that will not be
    open_gradients(step);
    if (!steps_.at(step).last_backward.contains(number)) leave(step, stage(number).parameter_uses());
}

// A step's STEPs stand together at its end: the first updates all.
void LocalStages::step(int number) {
    const int step = steps_made_[number]++;
    if (step < updates_) return;
    keep_old_weights();
    round_->update(step);
    ++updates_;
    if (exchanges_ != nullptr && gradients_opened_ > updates_)
        (*exchanges_)[gradients_of(updates_)].may_start();
}

// A step's VALIDATEs stand together, as its STEPs do.
bool LocalStages::stands(const Instruction&) {
    if (validated_ == updates_) return true;
    const bool stands = round_->validate(validated_++);
    stream_->slowness.settle();
    return stands;
}

void LocalStages::undo(const Instruction& forward) {
    Passage passage = std::move(passages_.extract({forward.stage, forward.micro_batch}).mapped());
    give_back(passage.input);
    release_flight(passage);
}

}  // namespace trireme
