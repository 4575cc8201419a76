// Checks the order of instructions that speculative updates require: see trireme/schedule/check.hpp.
#pragma once

#include <optional>
#include <string>

#include "schedule/check/instruction_rules.hpp"

namespace trireme::schedule {

// Returns a sentence that names the instruction and the rule that the instruction breaks; empty if it breaks no
// rule. If updates are not speculative, the only rule is that programs have no VALIDATE. The caller ensures
// that the team holds the stage of the instruction.
std::optional<std::string> find_broken_validation_rule(const InstructionContext& context);

}  // namespace trireme::schedule
