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

// Returns the plan with the clocks of --energy uniform: all passes of a team have the clock at which the team
// needs the fewest joules for a step, if all teams have equally low clocks. The costs must have clocks.
plan::Plan set_uniform_clocks(plan::Plan plan, const schedule::StepCosts& costs);

// Returns the plan with fewer CLOCKs, according to --clock-every: see policy::join_short_runs(). The costs must
// have clocks. `min_seconds` is in the unit of the costs.
plan::Plan join_short_clocks(plan::Plan plan, const schedule::StepCosts& costs, double min_seconds);

// Sets the clocks of the current plan: `decided`, the clocks of a decision, or those of --energy for step
// `step` (from 0) if `decided` is empty. Throws ConfigError if the run cannot set these clocks or those of the
// schedule.
void choose_clocks(const Job& job, int ranks, PlanState& current, const plan::PassClocks& decided = {},
                   std::size_t step = 0);

}  // namespace trireme::setup
