#include "schedule/programs/step_starts.hpp"

#include <algorithm>

namespace trireme::schedule {

StepStarts::StepStarts(const std::vector<Program>& programs, const PipelineShape& shape)
    : steps_(static_cast<std::size_t>(shape.steps)),
      microbatches_(shape.microbatches),
      has_speculative_updates_(shape.has_speculative_updates) {
    if (!has_speculative_updates_) return;
    forwards_ahead_ = find_repeated_work(programs);
    // No VALIDATE precedes the first step. Its forwards that run ahead are found from those of the second step.
    for (const Program& program : programs) {
        for (Instruction forward : program) {
            if (forward.op != Op::forward || shape.find_step(forward.microbatch) != 1 ||
                !forwards_ahead_.contains(forward))
                continue;
            forward.microbatch -= microbatches_;
            forwards_ahead_.add(forward);
        }
    }
}

std::vector<StepStart> StepStarts::find_starts(const Program& program) const {
    std::vector<StepStart> starts(steps_);
    if (!has_speculative_updates_) return starts;
    std::size_t validated_steps = 0;  // steps whose VALIDATEs have begun so far
    std::size_t updated_steps = 0;    // steps whose STEPs have begun so far
    Op last_op = Op::forward;         // of the previous instruction that is not a send
    for (std::size_t i = 0; i < program.size(); ++i) {
        const auto [op, stage, microbatch, age] = program[i];
        if (op == Op::step && last_op != Op::step) ++updated_steps;
        if (op == Op::validate && last_op != Op::validate) ++validated_steps;
        if (!is_send(op)) last_op = op;
        if (op == Op::step && updated_steps < steps_) starts[updated_steps].after_steps = i + 1;
        if (last_op == Op::validate && validated_steps < steps_)
            starts[validated_steps].after_validates = i + 1;
        // In the first step, the forwards that run ahead, and the sends directly after them, take the place of
        // VALIDATEs.
        const bool runs_ahead_in_first_step = updated_steps == 0 && runs_ahead(program[i]);
        if (runs_ahead_in_first_step || (starts[0].after_validates == i && is_send(op) && i > 0))
            starts[0].after_validates = i + 1;
    }
    return starts;
}

}  // namespace trireme::schedule
