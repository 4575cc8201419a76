// Determines the plan with which a run begins or resumes: the plan of its options, of recorded decisions, or of
// its checkpoint.
#pragma once

#include <string>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme::adapt {

inline constexpr const char* origin_key = "plan_origin";  // JSON key in CheckpointState::run

// Returns the origin of the run's plan as a JSON object for a checkpoint: the decision that led to the plan,
// and the slowness of the ranks in `observed`. Returns an empty text if the run uses the plan of its options.
std::string describe_origin(const setup::Job& job, const setup::PlanOrigin& origin,
                            const plan::Observation& observed);

inline constexpr const char* resizing_key = "resizing";  // JSON key in CheckpointState::run
inline constexpr const char* freeze_key = "freeze";      // JSON key in CheckpointState::run

// Returns a JSON object for a checkpoint with the rule by which ranks choose the channels that they prune.
// Returns an empty text if no rank may prune channels.
std::string describe_resizing(const setup::Job& job, const setup::PlanState& current);

// Stores `decision`, which led to `plan`, in `origin`, so that later checkpoints contain the decision. If
// `plan` is the plan of the options, `origin` has no decision afterwards, unless checkpoints have to contain
// the costs of a sweep with it.
void note_origin(plan::Decision decision, const plan::Plan& plan, setup::PlanOrigin& origin);

// Changes `setup` to the plan of `decision`, before the run has any state, and sets PlanOrigin::first_decision.
// Throws ConfigError if the plan is impossible.
void begin_with(plan::Decision decision, setup::Setup& setup, int ranks);

// First calls choose_clocks() for the plan of the options. Then changes `setup` from the plan of its options to
// the plan with which the run begins. With --decisions, the run begins with the plan after all decisions whose
// step is below Job::completed_steps, or after a decision before the first step. Without --decisions, a resumed
// run begins with the plan of its checkpoint, if the options and the number of ranks fit that plan. If the plan
// and the rule for choosing pruned channels are those of the checkpoint, ranks also resume with the
// checkpoint's pruned channels. Returns the remaining decisions, and the memory that the remaining changes of
// plan need on `rank` and its node. Throws the errors of check_first_layout() and choose_clocks(), and
// ConfigError if --decisions names a malformed file, or has a decision that plan_transition() refuses or whose
// step is not below the number of steps of the run.
RecordedChanges choose_first_plan(setup::Setup& setup, int rank);

}  // namespace trireme::adapt
