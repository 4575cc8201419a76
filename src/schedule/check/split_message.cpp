#include "schedule/check/split_message.hpp"

#include <algorithm>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

std::string place_in(const std::vector<Program>& programs, int team, const Instruction& instruction) {
    const Program& program = programs[static_cast<std::size_t>(team)];
    const auto at = std::find(program.begin(), program.end(), instruction);
    return describe_position(programs, team, static_cast<std::size_t>(at - program.begin()));
}

}  // namespace

std::optional<Fault> split_message(const std::vector<Program>& programs, const PipelineShape& shape) {
    const WorkSet again = done_again(programs);
    const auto side_of = [&](const Instruction& i) { return again.has(i) ? "before" : "after"; };
    for (int team = 0; team < shape.teams; ++team) {
        const Program& program = programs[static_cast<std::size_t>(team)];
        for (std::size_t position = 0; position < program.size(); ++position) {
            const Instruction& receive = program[position];
            if (receive.op != Op::receive_forward) continue;
            const Instruction reader{Op::forward, receive.stage, receive.microbatch};
            const Instruction send = send_of(receive);
            const bool is_reader_apart = again.has(reader) != again.has(receive);
            if (!is_reader_apart && again.has(send) == again.has(receive)) continue;
            const int other_team = is_reader_apart ? team : peer_of(receive, shape);
            const Instruction& other = is_reader_apart ? reader : send;
            return Fault{team, position,
                         cat(describe_position(programs, team, position), ", stands ", side_of(receive),
                             " VALIDATE, and ", place_in(programs, other_team, other), ", ", side_of(other),
                             " it; what is done again where a guess was wrong has to be so on both sides")};
        }
    }
    return std::nullopt;
}

}  // namespace trireme::schedule
