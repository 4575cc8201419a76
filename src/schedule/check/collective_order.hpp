// Checks the order of gradient reductions: all teams that hold the same two stages must reduce the gradients of
// these stages in the same order.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Finds two teams that hold the same two stages, but whose programs have the REDUCEs of these stages, over all
// steps, in different orders. Returns nothing if there are no such teams. `programs` must have all REDUCEs.
std::optional<Fault> find_order_conflict(const std::vector<Program>& programs);

}  // namespace trireme::schedule
