// The plan that a run goes on in: that of its options, or another one that it had come to.
#pragma once

#include <string>

#include "trireme/adapt/decided_plan.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme {

inline constexpr const char* origin_key = "plan_origin";  // of a checkpoint's facts about its run

// What a checkpoint says of how the run came to its plan, as a JSON object; empty where that is the plan of its
// options.
std::string origin_facts(const RunConfig& config, const Setup& setup, const Observation& observed);

inline constexpr const char* resizing_key = "resizing";  // likewise

// How ranks choose what they leave out, of which they remember something, as a JSON object; empty where none of
// them may leave out anything.
std::string resizing_facts(const RunConfig& config, const Setup& setup);

// The plan that a run begins in, of one that is in the plan of its options. With --decisions, what these have
// led to by then; otherwise, where it goes on with options and ranks like those of its checkpoint, the plan of
// that; in the very same plan, ranks that choose what they leave out as they did go on with what they remember.
// Gives the decisions that are left. Throws ConfigError as recorded_plans() does.
RecordedPlans take_up_plan(const RunConfig& config, Setup& setup, int ranks);

}  // namespace trireme
