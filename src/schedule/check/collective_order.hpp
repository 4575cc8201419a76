// Checks the order of reductions: those over the same teams must not overtake one another.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Finds teams that hold several stages in common but reduce them in different orders. `programs` must be
// complete.
std::optional<Fault> unlike_order(const std::vector<Program>& programs);

}  // namespace trireme::schedule
