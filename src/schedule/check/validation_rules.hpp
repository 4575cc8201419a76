// The order that validated updates ask of a program: see trireme/schedule/check.hpp.
#pragma once

#include <optional>
#include <string>

#include "schedule/check/instruction_rules.hpp"

namespace trireme::schedule {

// The rule that the instruction breaks, as a sentence that names it. Nothing in shapes whose updates are not
// validated, unless it is a VALIDATE.
std::optional<std::string> broken_validation_rule(const Case& at);

}  // namespace trireme::schedule
