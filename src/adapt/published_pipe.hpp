// The layouts of PipeTransformer's AutoPipe and AutoDP, for --auto-pipe published.
#pragma once

#include <optional>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// Returns the decision to change to the layout for `frozen` frozen blocks after `step` steps; empty if the plan
// has this layout and its number of micro-batches.
std::optional<plan::Decision> decide_published_pipe(const setup::Job& job, const setup::PlanState& current,
                                                    int frozen, std::size_t step);

}  // namespace trireme::adapt
