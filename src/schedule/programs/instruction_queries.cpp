#include "schedule/programs/instruction_queries.hpp"

#include "trireme/base/error.hpp"

namespace trireme::schedule {

int find_peer(const Instruction& message, const PipelineShape& shape) {
    const bool is_peer_next_stage = message.op == Op::send_forward || message.op == Op::receive_backward;
    return shape.find_executor(message.stage + (is_peer_next_stage ? 1 : -1), message.microbatch);
}

Instruction find_send(const Instruction& receive) {
    if (receive.op == Op::receive_forward) return {Op::send_forward, receive.stage - 1, receive.microbatch};
    return {Op::send_backward, receive.stage + 1, receive.microbatch};
}

Instruction find_receive(const Instruction& send) {
    if (send.op == Op::send_forward) return {Op::receive_forward, send.stage + 1, send.microbatch};
    return {Op::receive_backward, send.stage - 1, send.microbatch};
}

std::string format_ordinal(std::size_t number) {
    const bool is_teen = number / 10 % 10 == 1;
    const char* const suffixes[] = {"th", "st", "nd", "rd"};
    const std::size_t last_digit = number % 10;
    return cat(number, suffixes[is_teen || last_digit > 3 ? 0 : last_digit]);
}

std::string describe_position(const std::vector<Program>& programs, int team, std::size_t position) {
    const Instruction& instruction = programs[static_cast<std::size_t>(team)][position];
    return cat(to_string(instruction), ", the ", format_ordinal(position + 1), " instruction of team ", team);
}

WorkSet find_repeated_work(const std::vector<Program>& programs) {
    WorkSet repeated_work;
    for (const Program& program : programs) {
        bool may_roll_back = false;
        for (const Instruction& instruction : program) {
            if (instruction.op == Op::step) may_roll_back = true;
            if (instruction.op == Op::validate) may_roll_back = false;
            if (may_roll_back && has_microbatch(instruction.op)) repeated_work.add(instruction);
        }
    }
    return repeated_work;
}

}  // namespace trireme::schedule
