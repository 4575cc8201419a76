#include "schedule/programs/step_starts.hpp"

#include <algorithm>

namespace trireme::schedule {

StepStarts::StepStarts(const std::vector<Program>& programs, const PipelineShape& shape)
    : steps_(static_cast<std::size_t>(shape.steps)),
      microbatches_(shape.microbatches),
      validates_(shape.validates) {
    if (!validates_) return;
    ahead_ = done_again(programs);
    for (const Program& program : programs) {
        for (Instruction forward : program) {
            if (forward.op != Op::forward || shape.step_of(forward.microbatch) != 1 || !ahead_.has(forward))
                continue;
            forward.microbatch -= microbatches_;
            ahead_.add(forward);
        }
    }
}

std::vector<StepStart> StepStarts::of(const Program& program) const {
    std::vector<StepStart> starts(steps_);
    if (!validates_) return starts;
    std::size_t validated = 0;  // steps so far
    std::size_t updated = 0;
    Op last = Op::forward;  // sends are ignored
    for (std::size_t i = 0; i < program.size(); ++i) {
        const auto [op, stage, microbatch, age] = program[i];
        if (op == Op::step && last != Op::step) ++updated;
        if (op == Op::validate && last != Op::validate) ++validated;
        if (!is_send(op)) last = op;
        if (op == Op::step && updated < steps_) starts[updated].begins = i + 1;
        if (last == Op::validate && validated < steps_) starts[validated].resumes = i + 1;
        const bool opens = updated == 0 && is_ahead(program[i]);
        if (opens || (starts[0].resumes == i && is_send(op) && i > 0)) starts[0].resumes = i + 1;
    }
    return starts;
}

}  // namespace trireme::schedule
