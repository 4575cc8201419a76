#include <algorithm>
#include <iterator>

#include "schedule/schedules/generators.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::schedule {
namespace {

// Returns the number of forwards at the start of the program. Counts only forwards of the stage of the first
// instruction, and stops at any other instruction.
std::size_t count_leading_forwards(const Program& program) {
    const auto end = std::find_if(program.begin(), program.end(), [&](const Instruction& i) {
        return i.op != Op::forward || i.stage != program.front().stage;
    });
    return static_cast<std::size_t>(end - program.begin());
}

// Returns the programs of a step with REDUCEs and STEPs added, but without messages.
std::vector<Program> add_reduces_and_steps(const std::vector<Program>& step_programs,
                                           const PipelineShape& shape) {
    std::vector<Program> programs = lower(step_programs, shape);
    for (Program& program : programs) {
        std::erase_if(program, [](const Instruction& i) { return is_send(i.op) || is_receive(i.op); });
    }
    return programs;
}

}  // namespace

// Each team updates its stages before the global gradient norm is known, on the guess that the norm requires
// neither clipping nor skipping (Qi et al., 2024, section 4). Before its VALIDATE, a team executes one forward
// of the next step for each later team of its pipeline replica, because the later teams reach their REDUCEs
// later. If the guess was wrong, these forwards are repeated.
//
// The example shows the second step of ZB-H2 on 2 teams with 3 micro-batches per step. F3 of team 0 is not
// shown, because it precedes the VALIDATE of the first step. F6 belongs to the third step. I and W are the
// halves of a backward. B is a backward that is not split, and takes two units of time.
//
//   team 0   F4 F5 B3 .. B4 .. B5 .. REDUCE STEP F6 VALIDATE
//   team 1   F3 I3 F4 I4 F5 I5 W3 W4 W5 REDUCE STEP VALIDATE
Phases make_updates_speculative(const std::vector<Program>& step_programs, const PipelineShape& shape) {
    const std::size_t pipe = step_programs.size() / shape.holders.front().size();
    Phases phases{.prologue = std::vector<Program>(step_programs.size()),
                  .body = add_reduces_and_steps(step_programs, shape)};
    for (std::size_t team = 0; team < step_programs.size(); ++team) {
        Program& body = phases.body[team];
        const std::size_t forwards_ahead = std::min(count_leading_forwards(body), pipe - 1 - team % pipe);
        const auto end = body.begin() + static_cast<std::ptrdiff_t>(forwards_ahead);
        phases.prologue[team].assign(body.begin(), end);
        body.erase(body.begin(), end);
        std::ranges::copy(shift_microbatches(phases.prologue[team], shape.microbatches),
                          std::back_inserter(body));
        for (int stage = 0; stage < shape.stages(); ++stage) {
            if (shape.is_holder(static_cast<int>(team), stage)) body.push_back({Op::validate, stage});
        }
    }
    return phases;
}

}  // namespace trireme::schedule
