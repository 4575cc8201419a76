// The order of passes and the clocks that --energy chooses for a step of a run.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/schedule/costs.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

// Returns the facts about a training run from which plans are fitted into memory. The result refers to `job`
// and `state`.
PlannedRun describe_planned_run(const Job& job, int ranks, const PlanState& state);

// Predicts the costs of step `step` (from 0) at all clocks of the devices.
schedule::StepCosts predict_clocked_costs(const Job& job, const Machine& machine, const PlanState& state,
                                          std::size_t step);

struct PlannedEnergy {
    plan::Plan plan;
    StepFigures before;  // the step at the highest clocks
};
// Returns the plan of `state` with the order and the clocks that choose_energy() chooses for step `step`.
// --energy must be set. The costs by clock are `measured`; if that is null, the clocks and watts of all devices
// must be known. `slowness` has the slowness of each rank, see plan::Observation, and is empty if no rank is
// slow.
PlannedEnergy plan_energy(const Job& job, int ranks, const PlanState& state, std::size_t step,
                          const plan::ClockCosts* measured, const std::vector<double>& slowness = {});

}  // namespace trireme::setup
