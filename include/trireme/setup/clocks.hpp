// Clocks of devices: which ones exist, what passes cost at each of them, and which ones a plan sets.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/cluster.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/schedule/costs.hpp"

namespace trireme::setup {

struct Job;
struct PlanState;
struct StepFigures;

// Returns the clocks of a rank's device, highest first; an empty list if they are not known.
using RankClocks = std::function<std::span<const plan::DeviceClock>(int rank)>;

// Returns the clocks of each team; an empty list if the clocks of some rank are not known, or if the devices of
// some team have different clocks.
std::vector<schedule::TeamClocks> list_team_clocks(const std::vector<layout::Team>& teams,
                                                   const RankClocks& find_clocks);

// Returns the clocks of the device of a rank of a job, as RankClocks does. Those of GPUs have no watts.
std::span<const plan::DeviceClock> find_clocks(const Job& job, int rank);

// Same as above, for the devices of a job.
std::vector<schedule::TeamClocks> list_team_clocks(const Job& job, const std::vector<layout::Team>& teams);

// Returns the joules of all ranks in a step: `team_joules`, and those of the ranks without a team, which idle
// at their highest clock. Returns nothing if the clocks of such a rank are not known.
std::optional<double> sum_joules(const plan::Plan& plan, const std::vector<double>& team_joules, double seconds,
                                 int ranks, const RankClocks& find_clocks);

// Returns the costs of --cost for one step of the plan, at each clock of the devices. `stages` has one cost per
// stage.
schedule::StepCosts make_clocked_costs(const std::vector<schedule::StageCost>& stages, const plan::Plan& plan,
                                       const RankClocks& find_clocks);

// Throws ConfigError if the plan sets clocks, or --energy would set them, but list_team_clocks() returns none,
// or if the plan sets a clock that the device does not have, or if both set clocks. Also if the plan has
// another schedule than --energy or --reconfigure needs.
void check_clocks(const plan::Plan& plan, const config::PolicyConfig& policy, const RankClocks& find_clocks);

// Sets the order of passes and the clocks of the current plan: those of `decision`, or those of --energy (see
// choose_energy()) for the step after the decision if it names none. If the run measures the costs from which
// --energy chooses, all passes have the highest clock instead. Throws ConfigError if the run cannot set these
// clocks or those of the schedule, if the order that the decision names does not fit the plan or its memory, or
// if the run is too short to measure costs. If --energy has chosen the clocks, returns the step before.
std::optional<StepFigures> choose_clocks(const Job& job, int ranks, PlanState& current,
                                         const plan::Decision& decision = {});

}  // namespace trireme::setup
