#include "trireme/pipeline/engine.hpp"

#include <deque>
#include <map>
#include <tuple>

#include "pipeline/routes.hpp"

namespace trireme::pipeline {
namespace {

// Returns an upper bound of the number of micro-batches in flight at once. Micro-batches that are in flight at
// the same time have different numbers modulo this bound.
int max_microbatches_in_flight(const EngineContext& context) {
    return context.shape.microbatches * context.max_steps_in_flight;
}

// Returns the label of a message. The label encodes the sending stage and the micro-batch, so it is equal for
// the send and the receive. `window` is max_microbatches_in_flight().
comm::Label make_label(const schedule::Instruction& message, int window) {
    const bool is_received_activation = message.op == schedule::Op::receive_forward;
    const bool is_received_gradient = message.op == schedule::Op::receive_backward;
    const int sender_stage = message.stage - (is_received_activation ? 1 : 0) + (is_received_gradient ? 1 : 0);
    return sender_stage * window + message.microbatch % window;
}

// Returns the instruction that sent the message with this label. `receive` is the instruction that has received
// the message. A window is `window` consecutive micro-batches, starting from a multiple of `window`. The
// micro-batches of both instructions are assumed to be in the same window.
schedule::Instruction find_send(comm::Label label, const schedule::Instruction& receive, int window) {
    const schedule::Op op =
        receive.op == schedule::Op::receive_forward ? schedule::Op::send_forward : schedule::Op::send_backward;
    const int window_begin = receive.microbatch / window * window;
    return {op, label / window, window_begin + label % window};
}

schedule::Op find_send_op(schedule::Op compute_op) {
    return compute_op == schedule::Op::forward ? schedule::Op::send_forward : schedule::Op::send_backward;
}

// True if the instruction makes an activation for the next stage or a gradient for the preceding stage. At an
// end of the pipeline, that other stage does not exist.
bool makes_result(schedule::Op op) {
    return op == schedule::Op::forward || op == schedule::Op::backward || op == schedule::Op::backward_input;
}

std::size_t byte_size(device::ConstTensor tensor) { return tensor.size() * byte_size(tensor.dtype); }

using RequestIds = std::vector<comm::Communicator::RequestId>;

struct PendingMessage {
    schedule::Instruction instruction;
    RequestIds requests;
};

// The team at the other end of a channel, and true if the channel carries gradients.
using Channel = std::pair<int, bool>;

}  // namespace

struct Engine::State {
    explicit State(const EngineContext& engine_context) : context(engine_context), routes(engine_context) {}

    void run(const schedule::Instruction& instruction);
    void note_pass(schedule::Op op, double begin);
    void set_clock(int mhz);
    void validate(const schedule::Instruction& instruction);
    void repeat_since_update();
    void send(const schedule::Instruction& instruction);
    void receive(const schedule::Instruction& instruction);
    void wait_for_input(const schedule::Instruction& compute);
    void wait_for_send_buffer(const schedule::Instruction& compute);
    void wait_for_own_send(const schedule::Instruction& backward);
    void complete_sends(std::deque<PendingMessage>& sends, std::size_t max_pending);
    void complete_all_sends();
    void wait(const PendingMessage& message);

    std::string describe_position() const;
    device::TraceEvent make_event(const schedule::Instruction& instruction, std::size_t bytes = 0,
                                  const char* prefix = "") const;

    comm::Communicator& find_group(schedule::Op op) {
        return is_gradient_message(op) ? context.gradients : context.activations;
    }

    EngineContext context;
    Routes routes;
    StageWorker* worker = nullptr;
    const schedule::Program* program = nullptr;
    std::size_t position = 0;
    // Posted receives whose messages are not yet read, by (op, stage, micro-batch).
    std::map<std::tuple<schedule::Op, int, int>, PendingMessage> receives;
    std::map<Channel, std::deque<PendingMessage>> sends;  // started and not yet complete
    double begin_seconds = 0;                             // time at which advance() began
    plan::MeasuredPasses times;                           // of advance(); with sums instead of the means
    bool measures_passes = false;
    int forwards = 0, backwards = 0;  // that advance() has executed
};

Engine::Engine(const EngineContext& context) : state_(std::make_unique<State>(context)) {}
Engine::~Engine() = default;

void Engine::advance(const schedule::Program& program, StageWorker& worker) {
    State& state = *state_;
    state.worker = &worker;
    state.program = &program;
    state.begin_seconds = device::now_seconds();
    state.times = {};
    state.forwards = state.backwards = 0;
    for (state.position = 0; state.position < program.size(); ++state.position) {
        state.run(program[state.position]);
    }
    // Without a trained stage, the team has no STEP that completes its sends.
    if (state.context.completes_sends_before_steps && !state.routes.trains_any_stage())
        state.complete_all_sends();
    state.program = nullptr;
}

void Engine::finish(StageWorker& worker) {
    State& state = *state_;
    const schedule::Program empty_program;  // for describe_position() while sends are completed
    state.worker = &worker;
    state.program = &empty_program;
    state.position = 0;
    state.complete_all_sends();
    state.program = nullptr;
}

void Engine::execute(const schedule::Program& program, StageWorker& worker) {
    advance(program, worker);
    finish(worker);
}

void Engine::measure_passes(bool on) { state_->measures_passes = on; }

plan::MeasuredPasses Engine::pass_times() const {
    plan::MeasuredPasses times = state_->times;
    times.forward /= std::max(1, state_->forwards);
    times.backward /= std::max(1, state_->backwards);
    return times;
}

bool Engine::is_executing() const { return state_->program != nullptr; }

std::string Engine::describe_position() const {
    return is_executing() ? cat("stands at ", state_->describe_position()) : "is between programs";
}

double Engine::compute_executed_fraction() const {
    if (!is_executing() || state_->program->size() == 0) return 0;
    return static_cast<double>(state_->position) / static_cast<double>(state_->program->size());
}

// Returns for example "2RECV_B0, instruction 7 of 20".
std::string Engine::State::describe_position() const {
    if (position == program->size()) return "the end of its program, with unfinished sends";
    return cat(to_string((*program)[position]), ", instruction ", position + 1, " of ", program->size());
}

// Returns the trace event of an instruction, with the micro-batch number within its step. An instruction
// without micro-batch belongs to the current step. `prefix` precedes the instruction in the name of the event.
device::TraceEvent Engine::State::make_event(const schedule::Instruction& instruction, std::size_t bytes,
                                             const char* prefix) const {
    schedule::Instruction shown_instruction = instruction;
    device::TraceEvent event{.stage = instruction.stage, .bytes = bytes};
    if (has_microbatch(instruction.op)) {
        shown_instruction.microbatch %= context.shape.microbatches;
        event.step = context.trace->find_step_number(context.shape.find_step(instruction.microbatch));
        event.microbatch = shown_instruction.microbatch;
        if (!is_compute(instruction.op)) event.lane = device::TraceLane::messages;
    }
    event.name = prefix + to_string(shown_instruction);
    return event;
}

void Engine::progress() {
    state_->context.activations.progress();
    state_->context.gradients.progress();
}

void Engine::State::run(const schedule::Instruction& instruction) {
    const bool is_empty = has_microbatch(instruction.op) && worker->count_rows(instruction.microbatch) == 0;
    const bool is_measured = measures_passes && is_compute(instruction.op);
    if (is_empty && is_measured) times.waits.push_back(0);
    if (is_empty) return;
    if (is_send(instruction.op)) return send(instruction);
    if (is_receive(instruction.op)) return receive(instruction);
    if (instruction.op == schedule::Op::validate) return validate(instruction);
    if (instruction.op == schedule::Op::set_clock) return set_clock(instruction.mhz);
    // The sends must end, because the next step uses the memory of their buffers for other tensors. The wait
    // cannot cause a deadlock: no rank waits for this one, which has started all its sends of the step.
    if (instruction.op == schedule::Op::step && context.completes_sends_before_steps) complete_all_sends();
    wait_for_input(instruction);
    if (is_measured) times.waits.push_back(device::now_seconds() - begin_seconds - times.end);
    if (makes_result(instruction.op)) wait_for_send_buffer(instruction);
    if (instruction.op == schedule::Op::backward || instruction.op == schedule::Op::backward_weight)
        wait_for_own_send(instruction);
    const device::TraceSpan span(context.trace, [&] { return make_event(instruction); });
    const double begin = is_measured ? device::now_seconds() - begin_seconds : 0;
    worker->run(instruction);
    // Otherwise the measured times would only cover the launch.
    if (is_measured || (context.trace != nullptr && context.trace->is_on())) worker->synchronize();
    if (is_measured) note_pass(instruction.op, begin);
}

// Adds a pass that has just ended. `begin` is relative to begin_seconds.
void Engine::State::note_pass(schedule::Op op, double begin) {
    times.end = device::now_seconds() - begin_seconds;
    const bool is_forward = op == schedule::Op::forward;
    (is_forward ? times.forward : times.backward) += times.end - begin;
    if (is_forward)
        ++forwards;
    else if (op != schedule::Op::backward_weight)
        ++backwards;
}

void Engine::State::set_clock(int mhz) {
    worker->set_clock(mhz);
    if (context.trace != nullptr && context.trace->is_on()) context.trace->add_clock(mhz);
}

void Engine::State::validate(const schedule::Instruction& instruction) {
    bool is_valid = true;
    {
        const device::TraceSpan span(context.trace, [&] { return make_event(instruction); });
        is_valid = worker->validate_update(instruction);
    }
    if (!is_valid) repeat_since_update();
}

// Repeats the forwards between STEP and VALIDATE with their messages. All ranks do this. No message is sent
// before a STEP or a VALIDATE and received after it, so the repeated sends and receives match.
void Engine::State::repeat_since_update() {
    complete_all_sends();
    const std::size_t end_position = position;
    while (position > 0 && (*program)[position - 1].op != schedule::Op::step) --position;
    for (std::size_t i = position; i < end_position; ++i) {
        const schedule::Instruction& executed = (*program)[i];
        if (executed.op == schedule::Op::forward && worker->count_rows(executed.microbatch) > 0)
            worker->discard_forward(executed);
    }
    for (; position < end_position; ++position) run((*program)[position]);
}

void Engine::State::send(const schedule::Instruction& instruction) {
    const device::ConstTensor result = worker->find_send_buffer(instruction);
    const device::TraceSpan span(context.trace, [&] { return make_event(instruction, byte_size(result)); });
    const comm::Label label = make_label(instruction, max_microbatches_in_flight(context));
    PendingMessage message{instruction, {}};
    for (const RankMessage& rank_message :
         routes.list_rank_messages(instruction, worker->count_rows(instruction.microbatch))) {
        message.requests.push_back(
            find_group(instruction.op)
                .start_send(result.row_range(rank_message.own_rows.begin, rank_message.own_rows.count),
                            rank_message.peer, label));
    }
    sends[{routes.find_other_team(instruction), is_gradient_message(instruction.op)}].push_back(
        std::move(message));
}

void Engine::State::receive(const schedule::Instruction& instruction) {
    const device::Tensor buffer = worker->provide_receive_buffer(instruction);
    const device::TraceSpan span(context.trace, [&] { return make_event(instruction, byte_size(buffer)); });
    const comm::Label label = make_label(instruction, max_microbatches_in_flight(context));
    PendingMessage message{instruction, {}};
    for (const RankMessage& rank_message :
         routes.list_rank_messages(instruction, worker->count_rows(instruction.microbatch))) {
        message.requests.push_back(
            find_group(instruction.op)
                .start_receive(buffer.row_range(rank_message.own_rows.begin, rank_message.own_rows.count),
                               rank_message.peer, label));
    }
    receives[{instruction.op, instruction.stage, instruction.microbatch}] = std::move(message);
}

// Waits for the message that the instruction reads, if there is one.
void Engine::State::wait_for_input(const schedule::Instruction& compute) {
    const schedule::Op op =
        compute.op == schedule::Op::forward ? schedule::Op::receive_forward : schedule::Op::receive_backward;
    const auto posted = receives.find({op, compute.stage, compute.microbatch});
    if (posted == receives.end()) return;
    const PendingMessage message = std::move(posted->second);
    receives.erase(posted);
    wait(message);
}

// Waits until the channel that carries the result has a free slot. A slot becomes free when its message is
// complete.
void Engine::State::wait_for_send_buffer(const schedule::Instruction& compute) {
    const schedule::Instruction message{find_send_op(compute.op), compute.stage, compute.microbatch};
    const bool is_end_of_pipeline = compute.op == schedule::Op::forward
                                        ? routes.is_last(compute.stage)
                                        : routes.is_first_trained(compute.stage);
    if (is_end_of_pipeline || !routes.crosses_teams(message)) return;
    const auto slots = static_cast<std::size_t>(context.shape.slots);
    complete_sends(sends[{routes.find_other_team(message), is_gradient_message(message.op)}], slots - 1);
}

// Waits until the output of the forward has been sent, because the backward frees the memory of the output. The
// wait is short: the gradient that the backward reads has arrived, so the other team must have received the
// output before.
void Engine::State::wait_for_own_send(const schedule::Instruction& backward) {
    const schedule::Instruction message{schedule::Op::send_forward, backward.stage, backward.microbatch};
    if (routes.is_last(backward.stage) || !routes.crosses_teams(message)) return;
    std::deque<PendingMessage>& queue = sends[{routes.find_other_team(message), false}];
    for (std::size_t i = 0; i < queue.size(); ++i) {
        if (queue[i].instruction == message) return complete_sends(queue, queue.size() - i - 1);
    }
}

void Engine::State::complete_sends(std::deque<PendingMessage>& queue, std::size_t max_pending) {
    while (queue.size() > max_pending) {
        wait(queue.front());
        worker->finish_send(queue.front().instruction);
        queue.pop_front();
    }
}

void Engine::State::complete_all_sends() {
    for (auto& [channel, queue] : sends) complete_sends(queue, 0);
}

void Engine::State::wait(const PendingMessage& message) {
    const device::TraceSpan span(context.trace,
                                 [&] { return make_event(message.instruction, 0, "wait for "); });
    try {
        find_group(message.instruction.op).wait(message.requests);
    } catch (const comm::MessageMismatch& mismatch) {
        const schedule::Instruction sent_instruction =
            find_send(mismatch.arrived, message.instruction, max_microbatches_in_flight(context));
        throw BugError(cat("rank ", context.rank, " posted ", to_string(message.instruction),
                           " but received the message of ", to_string(sent_instruction), ": ",
                           mismatch.what()));
    } catch (const ResourceError& error) {  // a stall or an MPI error
        throw ResourceError(cat("at ", describe_position(), ": ", error.what()));
    }
}

}  // namespace trireme::pipeline
