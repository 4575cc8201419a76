// Where steps begin, in programs without messages or with sends: for forwards that run ahead of a VALIDATE, and
// for all else.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct StepStart {            // positions in a program
    std::size_t begins = 0;   // behind the STEPs of the step before
    std::size_t resumes = 0;  // behind its VALIDATEs, and the sends that follow them
};

// No VALIDATE comes before the first step. It begins like all others nevertheless: its forwards that are like
// those which run ahead in later steps come first. Where updates are not validated nothing runs ahead, and work
// of a step may stand anywhere.
class StepStarts {
public:
    StepStarts(const std::vector<Program>& programs, const PipelineShape& shape);

    bool is_ahead(const Instruction& made) const { return made.op == Op::forward && ahead_.has(made); }
    std::vector<StepStart> of(const Program& program) const;  // of each step

private:
    std::size_t steps_;
    int microbatches_;
    bool validates_;
    WorkSet ahead_;
};

}  // namespace trireme::schedule
