#include "schedule/programs/instruction_queries.hpp"

#include "trireme/base/error.hpp"

namespace trireme::schedule {

int peer_of(const Instruction& message, const PipelineShape& shape) {
    const bool is_above = message.op == Op::send_forward || message.op == Op::receive_backward;
    return shape.executor_of(message.stage + (is_above ? 1 : -1), message.microbatch);
}

Instruction send_of(const Instruction& receive) {
    if (receive.op == Op::receive_forward) return {Op::send_forward, receive.stage - 1, receive.microbatch};
    return {Op::send_backward, receive.stage + 1, receive.microbatch};
}

Instruction receive_of(const Instruction& send) {
    if (send.op == Op::send_forward) return {Op::receive_forward, send.stage + 1, send.microbatch};
    return {Op::receive_backward, send.stage - 1, send.microbatch};
}

std::string ordinal(std::size_t number) {
    const bool is_teen = number / 10 % 10 == 1;
    const char* const endings[] = {"th", "st", "nd", "rd"};
    const std::size_t last = number % 10;
    return cat(number, endings[is_teen || last > 3 ? 0 : last]);
}

std::string describe_position(const std::vector<Program>& programs, int team, std::size_t position) {
    const Instruction& instruction = programs[static_cast<std::size_t>(team)][position];
    return cat(to_string(instruction), ", the ", ordinal(position + 1), " instruction of team ", team);
}

WorkSet done_again(const std::vector<Program>& programs) {
    WorkSet again;
    for (const Program& program : programs) {
        bool may_go_back = false;
        for (const Instruction& instruction : program) {
            if (instruction.op == Op::step) may_go_back = true;
            if (instruction.op == Op::validate) may_go_back = false;
            if (may_go_back && has_microbatch(instruction.op)) again.add(instruction);
        }
    }
    return again;
}

}  // namespace trireme::schedule
