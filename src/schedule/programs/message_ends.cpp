#include "schedule/programs/message_ends.hpp"

namespace trireme {

int peer_of(const Instruction& message, const PipelineShape& shape) {
    const bool is_above = message.op == Op::send_forward || message.op == Op::receive_backward;
    return shape.executor_of(message.stage + (is_above ? 1 : -1), message.micro_batch);
}

Instruction send_of(const Instruction& receive) {
    if (receive.op == Op::receive_forward) return {Op::send_forward, receive.stage - 1, receive.micro_batch};
    return {Op::send_backward, receive.stage + 1, receive.micro_batch};
}

Instruction receive_of(const Instruction& send) {
    if (send.op == Op::send_forward) return {Op::receive_forward, send.stage + 1, send.micro_batch};
    return {Op::receive_backward, send.stage - 1, send.micro_batch};
}

}  // namespace trireme
