// What decides when a run's plan changes, and to what.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme {

// Asked between two steps, on every rank. Pure: the same answer for the same observation and plan, so that all
// ranks take it without a word, and a record of it can be replayed. None: the plan stays.
using Policy = std::function<std::optional<Decision>(const Observation& observed, const Plan& current)>;

// The term of a decision that says how many seconds shorter each step is to be: whoever follows it sees whether
// that repays the change.
inline constexpr const char* gain_term = "gain_s";

// What was decided before, by somebody else, whatever is observed now. Who does not say his name is "recorded".
Policy recorded(std::vector<Decision> decisions);

}  // namespace trireme
