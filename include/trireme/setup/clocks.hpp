// Clocks of devices: which ones exist, what passes cost at each of them, and which ones a plan sets.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/cluster.hpp"
#include "trireme/plan/pass_clocks.hpp"
#include "trireme/schedule/costs.hpp"

namespace trireme::setup {

struct Job;
struct PlanState;

// Returns the clocks of a rank's device, highest first; an empty list if they are not known.
using RankClocks = std::function<std::span<const plan::DeviceClock>(int rank)>;

// Returns the clocks of each team; an empty list if the clocks of some rank are not known, or if the devices of
// some team have different clocks.
std::vector<schedule::TeamClocks> list_team_clocks(const std::vector<layout::Team>& teams,
                                                   const RankClocks& find_clocks);

// Returns the costs of --cost for one step of the plan, at each clock of the devices. `stages` has one cost per
// stage.
schedule::StepCosts make_clocked_costs(const std::vector<schedule::StageCost>& stages, const plan::Plan& plan,
                                       const RankClocks& find_clocks);

// Throws ConfigError if the plan sets clocks, or --energy uniform would set them, but list_team_clocks()
// returns none, or if the plan sets a clock that the device does not have, or if both set clocks.
void check_clocks(const plan::Plan& plan, config::Energy energy, const RankClocks& find_clocks);

// Returns the plan with the clocks of `energy`, and without runs of passes at one clock that take less than
// `min_seconds`: see policy::join_short_runs(). For each team, the clock is searched at which it needs the
// fewest joules for a step, if all teams have equally low clocks. With `uniform`, all passes of the team have
// this clock. With `envelope`, the passes of policy::list_envelope() keep the highest clock, the search keeps
// the last stage at the highest clock, and teams with equal devices and equal work have equal clocks. The costs
// must have clocks; `min_seconds` is in the unit of the costs.
plan::Plan set_planned_clocks(plan::Plan plan, const schedule::StepCosts& costs, config::Energy energy,
                              double min_seconds);

// Sets the clocks of the current plan: `decided`, the clocks of a decision, or those of --energy for step
// `step` (from 0) if `decided` is empty. Throws ConfigError if the run cannot set these clocks or those of the
// schedule.
void choose_clocks(const Job& job, int ranks, PlanState& current, const plan::PassClocks& decided = {},
                   std::size_t step = 0);

}  // namespace trireme::setup
