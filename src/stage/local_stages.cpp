#include "trireme/stage/local_stages.hpp"

#include <algorithm>

#include "trireme/model/tensor_group.hpp"

namespace trireme {

struct LocalStages::Passage {
    std::unique_ptr<Flight> flight = nullptr;
    Tensor output = {};       // (own rows, width), in the flight
    Tensor input = {};        // likewise, in a row buffer: it came by message
    Tensor grad_output = {};  // likewise
    Tensor grad_input = {};   // in a row buffer, on its way to the stage before
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
      parameters_(parameters_of(stages_), work.dtype, place),
      workspace_(work.memory, place),
      rows_(work.most_rows, work.model.width, work.dtype, place),
      place_(place) {
    for (Stage& stage : stages_) stage.bind(parameters_);
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
    has_stepped_ = false;
    passages_.clear();
    outcomes_.clear();
    last_backward_.clear();
    for (const Instruction& instruction : round.program) {
        const bool leaves = instruction.op == Op::backward || instruction.op == Op::backward_weight;
        if (leaves && rows(instruction.micro_batch) > 0) last_backward_[instruction.stage] = instruction;
    }
    uses_left_.assign(parameters_.specs().size(), 0);
    for (const Stage& each : stages_) {
        for (const std::size_t parameter : each.parameter_uses()) ++uses_left_[parameter];
    }
    if (exchange_ != nullptr && round.shape.is_training) exchange_->begin();
}

std::size_t LocalStages::rows(int micro_batch) const {
    const TokenBatch* const batch = round_->batches[static_cast<std::size_t>(micro_batch)];
    return batch == nullptr ? 0 : batch->rows();
}

Pass LocalStages::pass_of(int micro_batch) {
    return {.stream = *stream_,
            .batch = *round_->batches[static_cast<std::size_t>(micro_batch)],
            .scratch = workspace_.scratch,
            .dtype = work_.dtype,
            .is_training = round_->shape.is_training,
            .dropout_key = round_->dropout_key,
            .loss_scale = round_->loss_scale,
            .label_smoothing = round_->label_smoothing,
            .group = group_.get()};
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
    Passage& passage = passages_.at({send.stage, send.micro_batch});
    if (send.op == Op::send_backward) {
        rows_.give_back(passage.grad_input);
    } else if (!round_->shape.is_training) {
        release_flight(passage);
    }
}

void LocalStages::run(const Instruction& instruction) {
    if (has_micro_batch(instruction.op) && rows(instruction.micro_batch) == 0) return;
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
            return step();
        case Op::send_forward:
        case Op::receive_forward:
        case Op::send_backward:
        case Op::receive_backward:
            break;
    }
    throw BugError(cat("a worker was told to run ", text_of(instruction), ", which is a message"));
}

// From the stage before: made here, or come by message.
ConstTensor LocalStages::input_of(const Instruction& instruction) {
    const auto [op, number, micro_batch] = instruction;
    if (stage(number).is_first()) return {};
    if (is_here(number - 1, micro_batch)) return passages_.at({number - 1, micro_batch}).output;
    return passages_.at({number, micro_batch}).input;
}

void LocalStages::forward(const Instruction& instruction) {
    const ConstTensor input = input_of(instruction);
    Passage& passage = passages_[{instruction.stage, instruction.micro_batch}];
    if (free_flights_.empty()) {
        free_flights_.push_back(std::make_unique<Flight>(work_.memory.activations, place_));
        ++flights_made_;
    }
    passage.flight = std::move(free_flights_.back());
    free_flights_.pop_back();
    passage.output =
        stage(instruction.stage).forward(pass_of(instruction.micro_batch), input, *passage.flight, workspace_);
    if (!round_->shape.is_training) finish_forward(instruction, passage);
    progress_();
}

// Nothing will come back this way: what was read is released, and so is what nobody will read.
void LocalStages::finish_forward(const Instruction& instruction, Passage& passage) {
    const auto [op, number, micro_batch] = instruction;
    give_back(passage.input);
    if (number > 0 && is_here(number - 1, micro_batch)) {
        release_flight(passages_.at({number - 1, micro_batch}));
    }
    if (!stage(number).is_last()) return;
    outcomes_[micro_batch] = stage(number).outcome(*passage.flight);
    release_flight(passage);
}

ConstTensor LocalStages::grad_output_of(const Instruction& instruction) {
    const auto [op, number, micro_batch] = instruction;
    if (stage(number).is_last()) return {};
    if (is_here(number + 1, micro_batch)) return passages_.at({number + 1, micro_batch}).grad_input;
    return passages_.at({number, micro_batch}).grad_output;
}

Tensor LocalStages::grad_input_of(const Instruction& instruction, Passage& passage) {
    if (stage(instruction.stage).is_first()) return {};
    passage.grad_input = rows_.take(own_rows(pass_of(instruction.micro_batch)).count);
    return passage.grad_input;
}

void LocalStages::backward(const Instruction& instruction) {
    Passage& passage = passages_.at({instruction.stage, instruction.micro_batch});
    const Stage& own = stage(instruction.stage);
    const Tensor grad_input = grad_input_of(instruction, passage);
    own.backward(pass_of(instruction.micro_batch), grad_output_of(instruction), grad_input, *passage.flight,
                 workspace_, listener(instruction));
    if (own.is_last()) outcomes_[instruction.micro_batch] = own.outcome(*passage.flight);
    release_inputs(instruction);
}

void LocalStages::backward_input(const Instruction& instruction) {
    Passage& passage = passages_.at({instruction.stage, instruction.micro_batch});
    const Stage& own = stage(instruction.stage);
    const Tensor grad_input = grad_input_of(instruction, passage);
    own.backward_input(pass_of(instruction.micro_batch), grad_output_of(instruction), grad_input,
                       *passage.flight);
    if (own.is_last()) outcomes_[instruction.micro_batch] = own.outcome(*passage.flight);
}

void LocalStages::backward_weight(const Instruction& instruction) {
    Passage& passage = passages_.at({instruction.stage, instruction.micro_batch});
    stage(instruction.stage)
        .backward_weight(pass_of(instruction.micro_batch), *passage.flight, listener(instruction));
    release_inputs(instruction);
}

void LocalStages::release_inputs(const Instruction& instruction) {
    const auto [op, number, micro_batch] = instruction;
    Passage& passage = passages_.at({number, micro_batch});
    give_back(passage.input);
    give_back(passage.grad_output);
    if (!stage(number).is_last() && is_here(number + 1, micro_batch)) {
        rows_.give_back(passages_.at({number + 1, micro_batch}).grad_input);
    }
    release_flight(passage);
}

// What came by message, if anything did: a rank without own rows has been given a place, too.
void LocalStages::give_back(const Tensor& place) {
    if (place.data != nullptr) rows_.give_back(place);
}

void LocalStages::release_flight(Passage& passage) {
    passage.flight->clear();
    free_flights_.push_back(std::move(passage.flight));
}

// The last backward pass of a stage leaves its gradients complete; the others only let messages go on.
LayerLeft LocalStages::listener(const Instruction& instruction) {
    const bool is_last = last_backward_.at(instruction.stage) == instruction;
    return [this, is_last](const std::vector<std::size_t>& parameters) {
        if (is_last) {
            leave(parameters);
        } else if (exchange_ != nullptr) {
            exchange_->advance();
        }
        progress_();
    };
}

void LocalStages::leave(const std::vector<std::size_t>& parameters) {
    std::vector<std::size_t> complete;
    for (const std::size_t parameter : parameters) {
        if (--uses_left_[parameter] == 0) complete.push_back(parameter);
    }
    if (exchange_ != nullptr) exchange_->complete(complete);
}

// A stage that no micro-batch has passed is complete as it is.
void LocalStages::reduce(int number) {
    if (!last_backward_.contains(number)) leave(stage(number).parameter_uses());
}

// STEPs of synchronous schedules stand together at the end of a program: the first updates all.
void LocalStages::step() {
    if (has_stepped_) return;
    has_stepped_ = true;
    round_->update();
}

std::size_t LocalStages::peak_bytes() const {
    return flights_made_ * work_.memory.activations + rows_.count() * rows_.bytes_each();
}

}  // namespace trireme
