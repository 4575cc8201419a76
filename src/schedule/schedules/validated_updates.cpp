#include <algorithm>
#include <iterator>

#include "schedule/schedules/generators.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::schedule {
namespace {

// Returns the number of forwards of one stage with which the program begins.
std::size_t first_forwards(const Program& program) {
    const auto behind = std::find_if(program.begin(), program.end(), [&](const Instruction& i) {
        return i.op != Op::forward || i.stage != program.front().stage;
    });
    return static_cast<std::size_t>(behind - program.begin());
}

// Returns the programs of a step with REDUCEs and STEPs.
std::vector<Program> updated(const std::vector<Program>& step, const PipelineShape& shape) {
    std::vector<Program> programs = lower(step, shape);
    for (Program& program : programs) {
        std::erase_if(program, [](const Instruction& i) { return is_send(i.op) || is_receive(i.op); });
    }
    return programs;
}

}  // namespace

// Each team updates at once, on the guess that the norm of all gradients, which is known later, changes nothing
// (Qi et al., 2024, section 4). Meanwhile a team does as many forwards of the next step as teams follow it in
// its row: the last team reaches its REDUCE that much later, as it began that much later. If the guess was
// wrong, these forwards are repeated. Example with ZB-H2 on 2 teams and 3 micro-batches, from the second step
// on:
//
//   team 0   F4 F5 B3 .. B4 .. B5 .. REDUCE STEP F6 VALIDATE
//   team 1   F3 I3 F4 I4 F5 I5 W3 W4 W5 REDUCE STEP VALIDATE
Phases with_validated_updates(const std::vector<Program>& step, const PipelineShape& shape) {
    const std::size_t pipe = step.size() / shape.holders.front().size();
    Phases phases{.prologue = std::vector<Program>(step.size()), .body = updated(step, shape)};
    for (std::size_t team = 0; team < step.size(); ++team) {
        Program& body = phases.body[team];
        const std::size_t ahead = std::min(first_forwards(body), pipe - 1 - team % pipe);
        const auto end = body.begin() + static_cast<std::ptrdiff_t>(ahead);
        phases.prologue[team].assign(body.begin(), end);
        body.erase(body.begin(), end);
        std::ranges::copy(shifted(phases.prologue[team], shape.microbatches), std::back_inserter(body));
        for (int stage = 0; stage < shape.stages(); ++stage) {
            if (shape.holds(static_cast<int>(team), stage)) body.push_back({Op::validate, stage});
        }
    }
    return phases;
}

}  // namespace trireme::schedule
