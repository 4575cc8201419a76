// From a decision to the plan that it asks for, checked before anybody follows it.
#pragma once

#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme {

struct DecidedPlan {
    Plan plan;
    std::size_t micro_batch_samples = 1;  // as in a Setup
    std::vector<BatchShape> largest = {};
    std::size_t elements_in_flight = 0;  // that a rank may send and get at a time on the way there

    SizedPlan sized(const Setup& setup) const { return {setup.model, plan, setup.dtype, largest, setup.place}; }
};

// For `ranks` ranks that follow `current` now. Throws ConfigError where options, model and ranks do not fit the
// decision, where it was taken for another plan or led to another one, and for more memory than --memory-limit,
// in the plan or on the way there.
DecidedPlan decided_plan(const RunConfig& config, const Setup& setup, const SizedPlan& current, int ranks,
                         const Decision& decision);

// Whether nothing moves from one to the other: they differ in what ranks leave out at most.
bool stays_in_place(const Plan& from, const Plan& to);

// Throws ConfigError where a run cannot come to this plan, or cannot leave it, as --move has it.
void check_change(const RunConfig& config, const Plan& plan);

// The decisions of --decisions, all of them possible one after the other, and their plans.
struct RecordedPlans {
    std::vector<Decision> decisions = {};
    std::vector<DecidedPlan> plans = {};
};
RecordedPlans recorded_plans(const RunConfig& config, const Setup& setup, int ranks);

// It becomes the setup's plan.
void follow(DecidedPlan next, Setup& setup);

// Notes what has led to the setup's plan, of which a run that goes on will be told.
void note_origin(Decision decision, Setup& setup);

// What was decided before `step` has been done: a run that goes on from there begins with the last of these
// plans, and is left the others.
void follow_until(std::size_t step, RecordedPlans& recorded, Setup& setup);

// What a rank holds at most while its state moves, without what is in flight.
struct MovingPlans {
    const SizedPlan& from;
    const GradientPlan& held;
    const SizedPlan& to;
    const GradientPlan& to_hold;
};
std::size_t moving_bytes(const MovingPlans& plans, const RunConfig& config, int rank);

// The largest twin of this rank's node in any of the changes; 0 where --move does without.
std::size_t most_twin_bytes(const RunConfig& config, const Setup& setup, const RecordedPlans& recorded,
                            const Session& session);

// The most that a rank holds by any of the plans, and on the way from one to the next.
std::size_t most_bytes(const RunConfig& config, const Setup& setup, const RecordedPlans& recorded, int rank);

}  // namespace trireme
