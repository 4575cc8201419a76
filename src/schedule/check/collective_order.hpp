// Checks the order of gradient reductions: all teams that hold the same two stages must reduce these in the
// same order.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Finds two teams that hold the same two stages but reduce them in different orders. `programs` must be
// complete.
std::optional<Fault> find_order_conflict(const std::vector<Program>& programs);

}  // namespace trireme::schedule
