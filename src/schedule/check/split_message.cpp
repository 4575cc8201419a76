#include "schedule/check/split_message.hpp"

#include <algorithm>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

// The program of `team` must contain the instruction.
std::string describe_instruction(const std::vector<Program>& programs, int team,
                                 const Instruction& instruction) {
    const Program& program = programs[static_cast<std::size_t>(team)];
    const auto found = std::find(program.begin(), program.end(), instruction);
    return describe_position(programs, team, static_cast<std::size_t>(found - program.begin()));
}

}  // namespace

std::optional<Fault> find_split_message(const std::vector<Program>& programs, const PipelineShape& shape) {
    const WorkSet repeated_work = find_repeated_work(programs);
    // In a step, the forwards and messages that may be repeated stand before the VALIDATEs of the previous
    // step. All others stand after these VALIDATEs.
    const auto describe_side = [&](const Instruction& i) {
        return repeated_work.contains(i) ? "before" : "after";
    };
    for (int team = 0; team < shape.teams; ++team) {
        const Program& program = programs[static_cast<std::size_t>(team)];
        for (std::size_t position = 0; position < program.size(); ++position) {
            const Instruction& receive = program[position];
            if (receive.op != Op::receive_forward) continue;
            const Instruction reader{Op::forward, receive.stage, receive.microbatch};
            const Instruction send = find_send(receive);
            const bool is_reader_on_other_side =
                repeated_work.contains(reader) != repeated_work.contains(receive);
            if (!is_reader_on_other_side && repeated_work.contains(send) == repeated_work.contains(receive))
                continue;
            const int other_team = is_reader_on_other_side ? team : find_peer(receive, shape);
            const Instruction& other_instruction = is_reader_on_other_side ? reader : send;
            return Fault{team, position,
                         cat(describe_position(programs, team, position), ", stands ", describe_side(receive),
                             " VALIDATE, but ", describe_instruction(programs, other_team, other_instruction),
                             ", stands ", describe_side(other_instruction),
                             " VALIDATE; after a rollback, the send, the receive and the reader of a message "
                             "must all be repeated, or none of them")};
        }
    }
    return std::nullopt;
}

}  // namespace trireme::schedule
