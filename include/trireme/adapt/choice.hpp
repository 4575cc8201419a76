// A change of plan that a run is about to make.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::adapt {

// A change of plan that was checked against the model, the ranks and the memory limit.
struct Choice {
    plan::Decision decision;
    PlanTransition transition;
    bool is_recorded = false;         // true if the decision comes from --decisions
    bool changes_only_depth = false;  // the number of frozen blocks changes, but not the layout
    double link_seconds = 0;  // seconds of the change, predicted from links; set if the layout follows lengths
};

// Returns a number below 2^53, which is not 0, so that a record of a step can carry it.
std::uint64_t number_plan(const plan::Plan& plan);

// Collective over `control`. Throws ConfigError if ranks chose different plans after `step` steps. Choices can
// differ if nodes have different versions of the program, or of a file that affects plans. If `choice` is null,
// this rank keeps its plan.
void check_equal_plans(comm::Communicator& control, const Choice* choice, std::size_t step);

}  // namespace trireme::adapt
