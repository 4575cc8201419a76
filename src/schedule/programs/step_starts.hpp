// The positions at which steps begin in programs without receives. With speculative updates, some forwards of a
// step stand before the VALIDATEs of the previous step ("run ahead"); all other work of the step stands after
// them.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Positions in a program, counted from 0.
struct StepStart {
    std::size_t after_steps = 0;  // after the STEPs of the previous step: forwards that run ahead begin here
    std::size_t after_validates = 0;  // after the VALIDATEs of the previous step and the sends that follow them
};

// No VALIDATE precedes the first step. In the first step the forwards that correspond to those running ahead in
// later steps count as running ahead, too. If updates are not speculative, no forward runs ahead, and both
// positions of all steps are 0.
class StepStarts {
public:
    StepStarts(const std::vector<Program>& programs, const PipelineShape& shape);

    bool runs_ahead(const Instruction& instruction) const {
        return instruction.op == Op::forward && forwards_ahead_.contains(instruction);
    }
    std::vector<StepStart> find_starts(const Program& program) const;  // per step

private:
    std::size_t steps_;
    int microbatches_;
    bool has_speculative_updates_;
    WorkSet forwards_ahead_;
};

}  // namespace trireme::schedule
