// The origin of the plan of a run, which checkpoints store.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/plan/clock_costs.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::setup {

// The predicted time and energy of a step, over all ranks.
struct StepFigures {
    double seconds = 0;
    std::optional<double> joules = {};  // empty if the joules of a rank are not known
    // The fewest joules for the same passes in the same time, if ranks ran slower instead of waiting.
    std::optional<double> min_joules = {};
};

// The origin of the current plan of a run: the options of the run, or a decision.
struct PlanOrigin {
    std::string hash = {};       // hash of the plan that follows from the options, clocks included
    layout::Layout layout = {};  // layout of the plan that follows from the options, as if no rank were slow
    // The step before --energy chose the order and the clocks of the current plan; empty if it is not known.
    std::optional<StepFigures> baseline = {};
    // Per rank: the slowness for which the clocks were chosen; empty before a rank is slow.
    std::vector<double> clocked_slowness = {};
    // The costs that the run has measured by clock; empty without a sweep. The sweep may not have ended.
    plan::ClockCosts clock_costs = {};
    // With --reconfigure: the number of steps in a row, up to the current one, in which no clock was raised.
    std::size_t quiet_steps = 0;
    // The decision that led to the current plan; empty if the run uses the plan of its options.
    std::optional<plan::Decision> decision = {};
    // The run resumes with the layout and the frozen blocks of its checkpoint, or begins with the layout that
    // --auto-pipe has chosen during set-up.
    bool has_chosen_layout = false;
    // The decision before the first step with whose plan the run begins, if there is one.
    std::optional<plan::Decision> first_decision = {};
    // The next two fields are set only if the run resumes with the decision of its checkpoint.
    std::vector<double> slowness = {};  // per rank: see plan::Observation
    std::size_t steady_steps = 0;       // number of steps since the slowness of any rank last changed
    std::string explanation = {};  // for users: the plan with which a resumed run begins, and why; may be empty
};

}  // namespace trireme::setup
