#include "trireme/mover/move_execution.hpp"

#include <algorithm>

#include "mover/box_memory.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::mover {
namespace {

// Calls use(transfer, offset) for each box of a message. `offset` is the number of elements that precede the
// box in the message.
template <class Use>
void for_each_box(const MoveMessage& message, Use&& use) {
    std::size_t offset = 0;
    for (const Transfer& transfer : message.boxes) {
        use(transfer, offset);
        offset += transfer.box.size();
    }
}

// Returns the number of elements that a rank sends plus receives in a round.
std::size_t count_elements(const MoveRound& round, int rank) {
    std::size_t sum = 0;
    for (const MoveMessage& message : round) {
        if (message.source == rank || message.destination == rank) sum += message.elements;
    }
    return sum;
}

}  // namespace

struct MoveExecution::State {
    State(const Move& the_move, const std::vector<BoxInMemory>& old_boxes,
          const std::vector<BoxInMemory>& new_boxes, device::DType the_dtype, comm::Communicator& the_group)
        : move(the_move),
          from(old_boxes),
          to(new_boxes),
          dtype(the_dtype),
          group(the_group),
          memory(count_message_buffer_bytes(the_move, the_dtype, the_group.rank()),
                 the_group.is_ghost() ? device::MemorySpace::ghost : device::MemorySpace::host) {}

    void copy_local_boxes() const;
    void start_round();  // posts the messages of the round; a no-op after the last round
    void end_round();    // unpacks the received messages and starts the next round
    bool is_over() const { return round == move.rounds.size(); }

    device::Tensor allocate_buffer(std::size_t elements);
    device::Tensor pack_message(const MoveMessage& message);
    void unpack_message(const MoveMessage& message, const device::Tensor& buffer) const;

    struct PendingReceive {
        const MoveMessage* message;
        device::Tensor buffer;
    };

    const Move& move;
    BoxMemory from, to;
    device::DType dtype;
    comm::Communicator& group;
    device::Buffer memory;          // of the message buffers of a round
    std::size_t used_elements = 0;  // elements of `memory` that message buffers occupy in this round
    std::size_t round = 0;          // index of the round in progress
    std::vector<comm::Communicator::RequestId> requests = {};  // of incomplete messages of this round
    std::vector<PendingReceive> pending_receives = {};
};

namespace {

// Returns a view of a box in the buffer of its message. `offset` is the number of elements that precede the
// box.
device::Tensor view_box(const device::Tensor& buffer, const layout::Box& box, std::size_t offset) {
    return {buffer.at(offset), buffer.dtype, box.rows.count, box.columns.count, box.columns.count};
}

}  // namespace

void MoveExecution::State::copy_local_boxes() const {
    if (group.is_ghost()) return;
    for (const Transfer& copy : move.local_copies) {
        if (copy.destination == group.rank()) to.copy_from(from, move.tensors[copy.tensor], copy.box);
    }
}

void MoveExecution::State::start_round() {
    used_elements = 0;
    if (is_over()) return;
    const auto label = static_cast<comm::Label>(round);
    for (const MoveMessage& message : move.rounds[round]) {
        if (message.destination != group.rank()) continue;
        pending_receives.push_back({&message, allocate_buffer(message.elements)});
        requests.push_back(group.start_receive(pending_receives.back().buffer, message.source, label));
    }
    for (const MoveMessage& message : move.rounds[round]) {
        if (message.source != group.rank()) continue;
        requests.push_back(group.start_send(pack_message(message), message.destination, label));
    }
}

void MoveExecution::State::end_round() {
    for (const PendingReceive& receive : pending_receives) unpack_message(*receive.message, receive.buffer);
    requests.clear();
    pending_receives.clear();
    ++round;
    start_round();
}

device::Tensor MoveExecution::State::allocate_buffer(std::size_t elements) {
    std::byte* const begin = memory.data() + used_elements * byte_size(dtype);
    used_elements += elements;
    return {begin, dtype, 1, elements, elements};
}

device::Tensor MoveExecution::State::pack_message(const MoveMessage& message) {
    const device::Tensor buffer = allocate_buffer(message.elements);
    if (group.is_ghost()) return buffer;
    for_each_box(message, [&](const Transfer& transfer, std::size_t offset) {
        from.read(move.tensors[transfer.tensor], transfer.box, view_box(buffer, transfer.box, offset));
    });
    return buffer;
}

void MoveExecution::State::unpack_message(const MoveMessage& message, const device::Tensor& buffer) const {
    if (group.is_ghost()) return;
    for_each_box(message, [&](const Transfer& transfer, std::size_t offset) {
        to.write(move.tensors[transfer.tensor], transfer.box, view_box(buffer, transfer.box, offset));
    });
}

MoveExecution::MoveExecution(const Move& move, const std::vector<BoxInMemory>& from,
                             const std::vector<BoxInMemory>& to, device::DType dtype, comm::Communicator& group)
    : state_(std::make_unique<State>(move, from, to, dtype, group)) {
    state_->copy_local_boxes();
    state_->start_round();
}

MoveExecution::~MoveExecution() = default;

bool MoveExecution::advance() {
    while (!state_->is_over()) {
        std::erase_if(state_->requests,
                      [&](comm::Communicator::RequestId id) { return state_->group.is_done(id); });
        if (!state_->requests.empty()) return false;
        state_->end_round();
    }
    return true;
}

void MoveExecution::finish() {
    while (!state_->is_over()) {
        state_->group.wait(state_->requests);
        state_->end_round();
    }
}

std::size_t count_message_buffer_bytes(const Move& move, device::DType dtype, int rank) {
    std::size_t max_elements = 0;
    for (const MoveRound& round : move.rounds)
        max_elements = std::max(max_elements, count_elements(round, rank));
    return max_elements * byte_size(dtype);
}

void execute_move(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
                  device::DType dtype, comm::Communicator& group) {
    MoveExecution(move, from, to, dtype, group).finish();
}

}  // namespace trireme::mover
