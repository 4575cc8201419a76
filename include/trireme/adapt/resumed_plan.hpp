// Determines the plan with which a run begins or resumes: the plan of its options, of recorded decisions, or of
// its checkpoint.
#pragma once

#include <string>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme::adapt {

inline constexpr const char* origin_key = "plan_origin";  // JSON key in a checkpoint's facts about its run

// Returns the origin of the run's plan (the decision that led to it, and the rank slowness in `observed`) as a
// JSON object for a checkpoint; empty if the plan is that of the options.
std::string describe_origin(const setup::Job& job, const setup::PlanOrigin& origin,
                            const plan::Observation& observed);

inline constexpr const char* resizing_key = "resizing";  // JSON key in a checkpoint's facts about its run

// Returns how ranks choose the channels that they prune, as a JSON object for a checkpoint; empty if no rank
// may prune channels.
std::string describe_resizing(const setup::Job& job, const setup::PlanState& current);

// Stores `decision`, which led to `plan`, in `origin`, so that later checkpoints contain it.
void note_origin(plan::Decision decision, const plan::Plan& plan, setup::PlanOrigin& origin);

// Changes `setup` from the plan of its options to the plan with which the run begins. With --decisions this is
// the plan after all decisions before the first step. Otherwise it is the plan of the checkpoint, if the run
// resumes with the options and the number of ranks of the checkpoint. If the plan and the rule for choosing
// pruned channels are those of the checkpoint, ranks also resume with the checkpoint's pruned channels. Returns
// the remaining decisions and the memory that their changes need on this rank and its node. Throws ConfigError
// as plan_transition() does.
RecordedChanges choose_first_plan(setup::Setup& setup, const std::vector<int>& nodes, int rank);

}  // namespace trireme::adapt
