// The rules that an instruction must obey within its own program, independent of the other teams.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schedule/programs/work_record.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// An instruction at a position of the programs, and the work before it. Holds references.
struct Case {
    const std::vector<Program>& programs;
    const PipelineShape& shape;
    const WorkRecord& before;
    int team = 0;
    std::size_t position = 0;

    const Program& program() const { return programs[static_cast<std::size_t>(team)]; }
    const Instruction& instruction() const { return program()[position]; }
};

// Describes, in a sentence that names the instruction, the rule that it breaks. Empty if it breaks none. It may
// name a stage or micro-batch that does not exist, be for another team, repeat another instruction, precede
// what it needs, use other weights than the other passes of its micro-batch, or exceed the activation memory.
std::optional<std::string> broken_rule(const Case& at);

}  // namespace trireme::schedule
