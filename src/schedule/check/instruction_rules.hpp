// What an instruction has to keep within its own program, whatever the other teams do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schedule/programs/work_record.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The instruction at a place of the programs, and what was done before it. All are references.
struct Case {
    const std::vector<Program>& programs;
    const PipelineShape& shape;
    const WorkRecord& before;
    int team = 0;
    std::size_t position = 0;

    const Program& program() const { return programs[static_cast<std::size_t>(team)]; }
    const Instruction& instruction() const { return program()[position]; }
};

// The rule that the instruction breaks, as a sentence that names it: it names a stage or micro-batch that is
// not there, is for another team, repeats another one, comes before what it needs, uses other weights than the
// rest of its micro-batch's way, or takes more memory than there is.
std::optional<std::string> broken_rule(const Case& at);

}  // namespace trireme::schedule
