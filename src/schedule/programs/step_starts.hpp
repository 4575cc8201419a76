// Finds the positions at which steps begin in programs that have no receives. With speculative updates, some
// forwards of a step run ahead: they precede the VALIDATEs of the previous step. All other work of the step
// follows these VALIDATEs.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The earliest positions of the work of a step in a program, counted from 0. For the first step, after_steps is
// 0, and after_validates is the position after the forwards that run ahead and the sends directly after these
// forwards.
struct StepStart {
    std::size_t after_steps = 0;      // for forwards that run ahead: after the STEPs of the previous step
    std::size_t after_validates = 0;  // for other work: after the VALIDATEs of the previous step, and the sends
                                      // directly after these VALIDATEs
};

// No VALIDATE precedes the first step. A forward of the first step runs ahead if the corresponding forward of
// the second step does. If updates are not speculative, no forward runs ahead, and all positions are 0.
class StepStarts {
public:
    StepStarts(const std::vector<Program>& programs, const PipelineShape& shape);

    bool runs_ahead(const Instruction& instruction) const {
        return instruction.op == Op::forward && forwards_ahead_.contains(instruction);
    }
    std::vector<StepStart> find_starts(const Program& program) const;  // per step

private:
    std::size_t steps_;
    int microbatches_;  // per step
    bool has_speculative_updates_;
    WorkSet forwards_ahead_;
};

}  // namespace trireme::schedule
