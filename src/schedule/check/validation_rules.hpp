// Checks the order that validated updates require of a program: see trireme/schedule/check.hpp.
#pragma once

#include <optional>
#include <string>

#include "schedule/check/instruction_rules.hpp"

namespace trireme::schedule {

// Describes, in a sentence that names the instruction, the rule that it breaks. Empty if it breaks none. If
// updates are not validated, the only such instruction is a VALIDATE.
std::optional<std::string> broken_validation_rule(const Case& at);

}  // namespace trireme::schedule
