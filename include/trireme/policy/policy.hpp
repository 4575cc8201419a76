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

// Called between two steps on every rank. Returns the change of plan; empty if the plan stays. A policy is a
// pure function: equal observations and plans give equal decisions, so all ranks agree without communication.
using Policy =
    std::function<std::optional<plan::Decision>(const plan::Observation& observed, const plan::Plan& current)>;

// Key in Decision::terms: the predicted gain in seconds per step. PlanChooser compares it with the cost of the
// change.
inline constexpr const char* gain_term = "gain_s";

// Replays `decisions` independently of the observations. A decision without a policy name gets the name
// "recorded".
Policy make_recorded_policy(std::vector<plan::Decision> decisions);

// Combines two policies: `bridge`, whose changes cost nothing, and `lasting`, whose changes move state and pay
// off only if slowness lasts. `bridge` decides while a rank is slow and the slowness of ranks last changed
// fewer than `steps` steps ago; afterwards `lasting` decides. If no rank is slow and `lasting` changes nothing,
// `bridge` decides again, so that it can undo its own changes.
Policy make_bridged_policy(Policy bridge, Policy lasting, std::size_t steps);

}  // namespace trireme::policy
