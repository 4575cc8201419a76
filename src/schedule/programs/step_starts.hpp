// The positions at which steps begin in programs without receives. Forwards that run ahead of a VALIDATE begin
// earlier than all other work of a step.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct StepStart {            // positions in a program
    std::size_t begins = 0;   // after the STEPs of the step before
    std::size_t resumes = 0;  // after its VALIDATEs and the sends that follow them
};

// No VALIDATE precedes the first step, but it is treated like all others: forwards that correspond to those
// running ahead in later steps come first. If updates are not validated, nothing runs ahead, and work of a step
// may stand anywhere.
class StepStarts {
public:
    StepStarts(const std::vector<Program>& programs, const PipelineShape& shape);

    bool is_ahead(const Instruction& made) const { return made.op == Op::forward && ahead_.has(made); }
    std::vector<StepStart> of(const Program& program) const;  // per step

private:
    std::size_t steps_;
    int microbatches_;
    bool validates_;
    WorkSet ahead_;
};

}  // namespace trireme::schedule
