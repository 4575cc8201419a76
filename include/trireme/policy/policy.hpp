// What decides when a run's plan changes, and to what.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::policy {

// Asked between two steps, on every rank. Pure: the same answer for the same observation and plan, so that all
// ranks take it without a word, and a record of it can be replayed. None: the plan stays.
using Policy =
    std::function<std::optional<plan::Decision>(const plan::Observation& observed, const plan::Plan& current)>;

// The term of a decision that says how many seconds shorter each step is to be: whoever follows it sees whether
// that repays the change.
inline constexpr const char* gain_term = "gain_s";

// What was decided before, by somebody else, whatever is observed now. Who does not say his name is "recorded".
Policy recorded(std::vector<plan::Decision> decisions);

// `bridge` decides while some rank is slow and has not been as it is for `steps` steps, then `lasting`. If
// `lasting` changes nothing, `bridge` takes back what it did for ranks that have recovered: it costs nothing to
// begin, while a lasting change moves the state and has to be of use for long.
Policy bridged(Policy bridge, Policy lasting, std::size_t steps);

}  // namespace trireme::policy
