// The plan that a run goes on in: that of its options, or another one that it had come to.
#pragma once

#include <string>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme::adapt {

inline constexpr const char* origin_key = "plan_origin";  // of a checkpoint's facts about its run

// Describes for a checkpoint how the run came to its plan, as a JSON object; empty if the run is in the plan of
// its options.
std::string origin_facts(const setup::Job& job, const setup::PlanOrigin& origin,
                         const plan::Observation& observed);

inline constexpr const char* resizing_key = "resizing";  // likewise

// Describes for a checkpoint how ranks choose the channels that they prune, as a JSON object; empty if no rank
// may prune any.
std::string resizing_facts(const setup::Job& job, const setup::PlanState& current);

// Notes the decision that has led to the plan, for a run that resumes from a later checkpoint.
void note_origin(plan::Decision decision, const plan::Plan& plan, setup::PlanOrigin& origin);

// Brings a setup in the plan of its options to the plan that the run begins in. With --decisions that is the
// plan that they have led to by the first step; otherwise a run that resumes with the options and ranks of its
// checkpoint takes the plan of the checkpoint. If it is the very same plan, and ranks choose the channels that
// they prune in the same way, they go on with those of the checkpoint. Returns the decisions that are left,
// with the memory that their changes need on this rank and its node. Throws ConfigError as plan_transition()
// does.
RecordedChanges take_up_plan(setup::Setup& setup, const std::vector<int>& nodes, int rank);

}  // namespace trireme::adapt
