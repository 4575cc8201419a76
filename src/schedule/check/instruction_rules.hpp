// The rules that can be checked for one instruction after the other. A rule concerns only the program that
// contains the instruction. There is one exception: all forwards of a micro-batch must use equally old weights,
// unless stages are updated independently.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schedule/programs/work_record.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// An instruction, given by a team and a position in this team's program, and the work that precedes the
// instruction. The referenced objects must outlive this object.
struct InstructionContext {
    const std::vector<Program>& programs;
    const PipelineShape& shape;
    // The instructions of `team` before `position`, and all instructions of the teams that were checked before.
    const WorkRecord& earlier_work;
    int team = 0;
    std::size_t position = 0;

    const Program& program() const { return programs[static_cast<std::size_t>(team)]; }
    const Instruction& instruction() const { return program()[position]; }
};

// Returns a sentence that names the instruction and the rule that the instruction breaks; empty if it breaks no
// rule. The rules forbid:
//   - a stage, a micro-batch or an age that does not exist, and training work in forward-only programs;
//   - work that the shape assigns to another team, and messages to or from a stage that does not exist or that
//     the same team executes;
//   - a second instruction for the same work;
//   - a wrong order of STEPs and VALIDATEs: see find_broken_validation_rule();
//   - an instruction that precedes another instruction whose result it needs;
//   - a backward that frees activations which the next stage still has to read;
//   - a backward with other weights than its forward and, unless stages are updated independently, forwards
//     of a micro-batch with weights of different ages;
//   - a forward that exceeds the activation limit of its team.
std::optional<std::string> find_broken_rule(const InstructionContext& context);

}  // namespace trireme::schedule
