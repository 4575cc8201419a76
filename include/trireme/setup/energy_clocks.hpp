// The clocks and the order of passes that --energy and --reconfigure choose.
#pragma once

#include "trireme/config/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/policy/reconfigure.hpp"
#include "trireme/schedule/costs.hpp"
#include "trireme/setup/memory_limit.hpp"

namespace trireme::setup {

// Returns the plan with the order and the clocks that the options of `run` request. For each team, searches the
// clock at which it needs the fewest joules for a step, with all teams at equally low clocks.
// - With --energy uniform, all passes of the team have this clock.
// - With --energy envelope, the passes of policy::list_envelope() keep the highest clock, the search keeps the
//   last stage at the highest clock, and teams with equal devices and equal work have equal clocks.
// - Unless --energy is `baseline`, schedule `envpipe` gets extra forwards, if the plan has none: see
//   policy::compute_extra_forwards(). They are limited by the memory limits of `run`.
// - Unless --energy is `baseline`, add_slots_for_clocks() adds slots.
// - join_short_clocks() applies --clock-every.
// The costs must have clocks if these options are set; --clock-every is in the unit of the costs. If ranks are
// slow, `team_slowness` has the slowness of each team, with which the costs are already multiplied; the stage
// of the slowest team then takes the place of the last stage.
plan::Plan choose_energy(plan::Plan plan, const schedule::StepCosts& costs, const PlannedRun& run,
                         const std::vector<double>& team_slowness = {});

// Returns the teams of a plan with schedule `1f1b` or `envpipe`, and the clocks of their passes. Passes before
// the first CLOCK have the highest clock. `clocks` has the clocks of each team.
std::vector<policy::ClockedTeam> list_clocked_teams(const plan::Plan& plan,
                                                    const std::vector<schedule::TeamClocks>& clocks);
// Sets the clocks of list_clocked_teams(), which may have changed.
void set_team_clocks(const std::vector<policy::ClockedTeam>& teams, plan::Plan& plan);

// Returns the rule of --reconfigure, which must be set.
policy::RaiseRule find_raise_rule(const config::PolicyConfig& policy);

struct PredictedReconfiguration {
    plan::Plan plan;        // after the loop
    std::size_t steps = 0;  // of the loop; 0 with --reconfigure default
};
// Predicts the loop of --reconfigure, without noise. The costs must have clocks if --reconfigure is set.
PredictedReconfiguration predict_reconfiguration(plan::Plan plan, const schedule::StepCosts& costs,
                                                 const config::PolicyConfig& policy);

// Returns the plan, if its schedule is `1f1b` or `envpipe`, with slots for passes of any durations. Returns it
// unchanged if these slots do not fit into memory.
plan::Plan add_slots_for_clocks(plan::Plan plan, const PlannedRun& run);

// Returns the plan without runs of passes at one clock that take less than `min_seconds`: see
// policy::join_short_runs().
plan::Plan join_short_clocks(plan::Plan plan, const schedule::StepCosts& costs, double min_seconds);

}  // namespace trireme::setup
