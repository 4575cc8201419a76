#include "trireme/pipeline/engine.hpp"

#include <deque>
#include <map>
#include <tuple>

#include "pipeline/routes.hpp"

namespace trireme::pipeline {
namespace {

// Returns the number of micro-batches that may be in flight at once. Their numbers modulo it are unique.
int window_of(const EngineWiring& wiring) { return wiring.shape.microbatches * wiring.steps_in_flight; }

// Returns the label of a message, equal on both sides. It encodes the stage that made it and the micro-batch.
comm::Label label_of(const schedule::Instruction& message, int window) {
    const bool is_from_before = message.op == schedule::Op::receive_forward;
    const bool is_from_behind = message.op == schedule::Op::receive_backward;
    const int maker = message.stage - (is_from_before ? 1 : 0) + (is_from_behind ? 1 : 0);
    return maker * window + message.microbatch % window;
}

// Returns the instruction that sent the message with this label, which `receive` got.
schedule::Instruction send_of(comm::Label label, const schedule::Instruction& receive, int window) {
    const schedule::Op op =
        receive.op == schedule::Op::receive_forward ? schedule::Op::send_forward : schedule::Op::send_backward;
    const int window_begin = receive.microbatch / window * window;
    return {op, label / window, window_begin + label % window};
}

schedule::Op message_op(schedule::Op compute_op) {
    return compute_op == schedule::Op::forward ? schedule::Op::send_forward : schedule::Op::send_backward;
}

// True if the instruction makes a result that another stage reads.
bool has_result(schedule::Op op) {
    return op == schedule::Op::forward || op == schedule::Op::backward || op == schedule::Op::backward_input;
}

std::size_t bytes_of(device::ConstTensor tensor) { return tensor.size() * bytes_of(tensor.dtype); }

using Tickets = std::vector<comm::Communicator::Ticket>;

struct PendingMessage {
    schedule::Instruction instruction;
    Tickets tickets;
};

// The team at the other end, and true if the channel carries gradients.
using Channel = std::pair<int, bool>;

}  // namespace

struct Engine::State {
    explicit State(const EngineWiring& engine_wiring) : wiring(engine_wiring), routes(engine_wiring) {}

    void run(const schedule::Instruction& instruction);
    void validate(const schedule::Instruction& instruction);
    void run_again_since_update();
    void send(const schedule::Instruction& instruction);
    void receive(const schedule::Instruction& instruction);
    void wait_for_input(const schedule::Instruction& compute);
    void wait_for_room(const schedule::Instruction& compute);
    void wait_for_own_send(const schedule::Instruction& backward);
    void complete_sends(std::deque<PendingMessage>& sends, std::size_t most_left);
    void wait(const PendingMessage& message);

    std::string place() const;
    device::TraceEvent event_of(const schedule::Instruction& instruction, std::size_t bytes = 0,
                                const char* before = "") const;

    comm::Communicator& group_of(schedule::Op op) {
        return is_of_gradient(op) ? wiring.gradients : wiring.activations;
    }

    EngineWiring wiring;
    Routes routes;
    StageWorker* worker = nullptr;
    const schedule::Program* program = nullptr;
    std::size_t position = 0;
    std::map<std::tuple<schedule::Op, int, int>, PendingMessage> receives;  // posted and not yet read
    std::map<Channel, std::deque<PendingMessage>> sends;                    // started and not yet complete
};

Engine::Engine(const EngineWiring& wiring) : state_(std::make_unique<State>(wiring)) {}
Engine::~Engine() = default;

void Engine::go_on(const schedule::Program& program, StageWorker& worker) {
    State& state = *state_;
    state.worker = &worker;
    state.program = &program;
    for (state.position = 0; state.position < program.size(); ++state.position) {
        state.run(program[state.position]);
    }
    state.program = nullptr;
}

void Engine::finish(StageWorker& worker) {
    State& state = *state_;
    const schedule::Program nothing;
    state.worker = &worker;
    state.program = &nothing;
    state.position = 0;
    for (auto& [channel, sends] : state.sends) state.complete_sends(sends, 0);
    state.program = nullptr;
}

void Engine::execute(const schedule::Program& program, StageWorker& worker) {
    go_on(program, worker);
    finish(worker);
}

bool Engine::is_executing() const { return state_->program != nullptr; }

std::string Engine::position() const {
    return is_executing() ? cat("stands at ", state_->place()) : "is between programs";
}

double Engine::part_done() const {
    if (!is_executing() || state_->program->size() == 0) return 0;
    return static_cast<double>(state_->position) / static_cast<double>(state_->program->size());
}

// "2RECV_B0, instruction 7 of 20"
std::string Engine::State::place() const {
    if (position == program->size()) return "the end of its program, where messages are still on their way";
    return cat(to_string((*program)[position]), ", instruction ", position + 1, " of ", program->size());
}

// Returns the trace event of an instruction, with the micro-batch counted within its step. An instruction
// without micro-batch belongs to the step that is being executed.
device::TraceEvent Engine::State::event_of(const schedule::Instruction& instruction, std::size_t bytes,
                                           const char* before) const {
    schedule::Instruction shown = instruction;
    device::TraceEvent event{.stage = instruction.stage, .bytes = bytes};
    if (has_microbatch(instruction.op)) {
        shown.microbatch %= wiring.shape.microbatches;
        event.step = wiring.trace->step_of_stretch(wiring.shape.step_of(instruction.microbatch));
        event.microbatch = shown.microbatch;
        if (!is_compute(instruction.op)) event.lane = device::TraceLane::messages;
    }
    event.name = before + to_string(shown);
    return event;
}

void Engine::progress() {
    state_->wiring.activations.progress();
    state_->wiring.gradients.progress();
}

void Engine::State::run(const schedule::Instruction& instruction) {
    const bool is_empty = has_microbatch(instruction.op) && worker->rows(instruction.microbatch) == 0;
    if (is_empty) return;
    if (is_send(instruction.op)) return send(instruction);
    if (is_receive(instruction.op)) return receive(instruction);
    if (instruction.op == schedule::Op::validate) return validate(instruction);
    wait_for_input(instruction);
    if (has_result(instruction.op)) wait_for_room(instruction);
    if (instruction.op == schedule::Op::backward || instruction.op == schedule::Op::backward_weight)
        wait_for_own_send(instruction);
    const device::TraceSpan span(wiring.trace, [&] { return event_of(instruction); });
    worker->run(instruction);
    if (wiring.trace != nullptr && wiring.trace->is_on())
        worker->settle();  // otherwise the span would only cover the launch
}

void Engine::State::validate(const schedule::Instruction& instruction) {
    bool stands = true;
    {
        const device::TraceSpan span(wiring.trace, [&] { return event_of(instruction); });
        stands = worker->stands(instruction);
    }
    if (!stands) run_again_since_update();
}

// Repeats the forwards between STEP and VALIDATE with their messages. Every rank does the same, and no message
// crosses a STEP or a VALIDATE.
void Engine::State::run_again_since_update() {
    for (auto& [channel, queue] : sends) complete_sends(queue, 0);
    const std::size_t end = position;
    while (position > 0 && (*program)[position - 1].op != schedule::Op::step) --position;
    for (std::size_t i = position; i < end; ++i) {
        const schedule::Instruction& done = (*program)[i];
        if (done.op == schedule::Op::forward && worker->rows(done.microbatch) > 0) worker->undo(done);
    }
    for (; position < end; ++position) run((*program)[position]);
}

void Engine::State::send(const schedule::Instruction& instruction) {
    const device::ConstTensor result = worker->result_for(instruction);
    const device::TraceSpan span(wiring.trace, [&] { return event_of(instruction, bytes_of(result)); });
    const comm::Label label = label_of(instruction, window_of(wiring));
    PendingMessage message{instruction, {}};
    for (const Leg& leg : routes.legs(instruction, worker->rows(instruction.microbatch))) {
        message.tickets.push_back(
            group_of(instruction.op)
                .start_send(result.row_range(leg.own_rows.begin, leg.own_rows.count), leg.peer, label));
    }
    sends[{routes.other_team(instruction), is_of_gradient(instruction.op)}].push_back(std::move(message));
}

void Engine::State::receive(const schedule::Instruction& instruction) {
    const device::Tensor place = worker->place_for(instruction);
    const device::TraceSpan span(wiring.trace, [&] { return event_of(instruction, bytes_of(place)); });
    const comm::Label label = label_of(instruction, window_of(wiring));
    PendingMessage message{instruction, {}};
    for (const Leg& leg : routes.legs(instruction, worker->rows(instruction.microbatch))) {
        message.tickets.push_back(
            group_of(instruction.op)
                .start_receive(place.row_range(leg.own_rows.begin, leg.own_rows.count), leg.peer, label));
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

// A result needs one of the buffers of its channel, which earlier messages free when they are complete.
void Engine::State::wait_for_room(const schedule::Instruction& compute) {
    const schedule::Instruction message{message_op(compute.op), compute.stage, compute.microbatch};
    const bool is_end =
        compute.op == schedule::Op::forward ? routes.is_last(compute.stage) : routes.is_first(compute.stage);
    if (is_end || !routes.leaves_team(message)) return;
    const auto slots = static_cast<std::size_t>(wiring.shape.slots);
    complete_sends(sends[{routes.other_team(message), is_of_gradient(message.op)}], slots - 1);
}

// The backward pass frees the memory from which the forward pass's result was sent. Its gradient has arrived,
// so that this message has already been received.
void Engine::State::wait_for_own_send(const schedule::Instruction& backward) {
    const schedule::Instruction message{schedule::Op::send_forward, backward.stage, backward.microbatch};
    if (routes.is_last(backward.stage) || !routes.leaves_team(message)) return;
    std::deque<PendingMessage>& queue = sends[{routes.other_team(message), false}];
    for (std::size_t i = 0; i < queue.size(); ++i) {
        if (queue[i].instruction == message) return complete_sends(queue, queue.size() - i - 1);
    }
}

void Engine::State::complete_sends(std::deque<PendingMessage>& queue, std::size_t most_left) {
    while (queue.size() > most_left) {
        wait(queue.front());
        worker->sent(queue.front().instruction);
        queue.pop_front();
    }
}

void Engine::State::wait(const PendingMessage& message) {
    const device::TraceSpan span(wiring.trace, [&] { return event_of(message.instruction, 0, "wait for "); });
    try {
        group_of(message.instruction.op).wait(message.tickets);
    } catch (const comm::MessageMismatch& mismatch) {
        const schedule::Instruction arrived = send_of(mismatch.arrived, message.instruction, window_of(wiring));
        throw BugError(cat("rank ", wiring.rank, " posted ", to_string(message.instruction), " and got what ",
                           to_string(arrived), " sent: ", mismatch.what()));
    } catch (const ResourceError& refusal) {  // a stall or an MPI error
        throw ResourceError(cat("at ", place(), ": ", refusal.what()));
    }
}

}  // namespace trireme::pipeline
