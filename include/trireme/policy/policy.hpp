// Policies decide when a run's plan changes, and to which plan.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::policy {

// Called between two steps on every rank. A policy is pure: equal observations and plans give equal decisions,
// so all ranks agree without communication, and records can be replayed. Returns nothing if the plan stays.
using Policy =
    std::function<std::optional<plan::Decision>(const plan::Observation& observed, const plan::Plan& current)>;

// The term of a decision with the predicted gain in seconds per step. The caller compares it with the cost of
// the change.
inline constexpr const char* gain_term = "gain_s";

// Replays given decisions, whatever is observed. A decision without a policy name gets the name "recorded".
Policy recorded(std::vector<plan::Decision> decisions);

// `bridge` decides while some rank is slow and slowness has been steady for fewer than `steps` steps;
// afterwards `lasting` decides. If no rank is slow and `lasting` changes nothing, `bridge` undoes its changes
// for recovered ranks. A bridge starts at no cost, while a lasting change moves state and must pay off for a
// long time.
Policy bridged(Policy bridge, Policy lasting, std::size_t steps);

}  // namespace trireme::policy
