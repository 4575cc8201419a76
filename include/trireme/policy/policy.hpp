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

// Called between two steps on every rank. Returns the change of plan; empty if the plan does not change. A
// policy is a pure function: equal observations and plans give equal decisions, so all ranks agree without
// communication.
using Policy =
    std::function<std::optional<plan::Decision>(const plan::Observation& observed, const plan::Plan& current)>;

// Key of the predicted gain, in seconds per step, in Decision::terms. PlanChooser compares this gain with the
// cost of moving state.
inline constexpr const char* gain_term = "gain_s";

// Returns a policy that replays `decisions`: after step n, it returns the decision whose `step` is n.
// Measurements have no effect. A decision without a policy name gets the name "recorded".
Policy make_recorded_policy(std::vector<plan::Decision> decisions);

// Returns a policy that combines two policies. Changes by `bridge` move no state. Changes by `lasting` move
// state, and pay off only if the slowness of ranks lasts.
//   - If a rank is slow, and the slowness of ranks changed fewer than `steps` steps ago, `bridge` decides.
//   - If a rank is slow, and the slowness of ranks has been constant for at least `steps` steps, `lasting`
//     decides.
//   - If no rank is slow, `lasting` decides. If `lasting` keeps the plan, `bridge` decides, so that it can undo
//     its own changes.
Policy make_bridged_policy(Policy bridge, Policy lasting, std::size_t steps);

}  // namespace trireme::policy
