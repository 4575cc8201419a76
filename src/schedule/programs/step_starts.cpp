#include "schedule/programs/step_starts.hpp"

#include <algorithm>

namespace trireme::schedule {

StepStarts::StepStarts(const std::vector<Program>& programs, const PipelineShape& shape)
    : steps_(static_cast<std::size_t>(shape.steps)),
      microbatches_(shape.microbatches),
      has_speculative_updates_(shape.has_speculative_updates) {
    if (!has_speculative_updates_) return;
    forwards_ahead_ = find_repeated_work(programs);
    // No VALIDATE precedes the first step. So a forward of the first step counts as running ahead if the
    // corresponding forward of the second step runs ahead.
    for (const Program& program : programs) {
        for (Instruction instruction : program) {
            if (instruction.op != Op::forward || shape.find_step(instruction.microbatch) != 1 ||
                !forwards_ahead_.contains(instruction))
                continue;
            instruction.microbatch -= microbatches_;
            forwards_ahead_.add(instruction);
        }
    }
}

std::vector<StepStart> StepStarts::find_starts(const Program& program) const {
    std::vector<StepStart> starts(steps_);
    if (!has_speculative_updates_) return starts;
    std::size_t validated_steps = 0;  // steps that have a VALIDATE at or before `position`
    std::size_t updated_steps = 0;    // steps that have a STEP at or before `position`
    Op last_op = Op::forward;         // operation of the latest instruction that is neither a send nor a CLOCK
    for (std::size_t position = 0; position < program.size(); ++position) {
        const auto [op, stage, microbatch, age, mhz] = program[position];
        if (op == Op::step && last_op != Op::step) ++updated_steps;
        if (op == Op::validate && last_op != Op::validate) ++validated_steps;
        const bool joins_previous = is_send(op) || op == Op::set_clock;
        if (!joins_previous) last_op = op;
        if (op == Op::step && updated_steps < steps_) starts[updated_steps].after_steps = position + 1;
        if (last_op == Op::validate && validated_steps < steps_)
            starts[validated_steps].after_validates = position + 1;
        // In the first step, other work begins after the forwards that run ahead and the sends and CLOCKs
        // directly after these forwards.
        const bool runs_ahead_in_first_step = updated_steps == 0 && runs_ahead(program[position]);
        const bool follows_forwards_ahead = position > 0 && starts[0].after_validates == position;
        if (runs_ahead_in_first_step || (follows_forwards_ahead && joins_previous))
            starts[0].after_validates = position + 1;
    }
    return starts;
}

}  // namespace trireme::schedule
