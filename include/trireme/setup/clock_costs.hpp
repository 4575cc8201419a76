// Costs of passes by clock from --clock-costs: those of a file, or those that the run measures in its first
// steps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/clock_costs.hpp"
#include "trireme/plan/cluster.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/costs.hpp"
#include "trireme/setup/plan_origin.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

struct Job;
struct PlanState;

// True if the run measures the costs in its first steps: with `sweep`, and with `auto` on GPUs.
bool sweeps_clocks(const Job& job);
// True if a policy reads the times of passes, so that records of steps contain them.
bool needs_pass_times(const Job& job);

// The device of a rank.
struct NamedDevice {
    std::string name = {};         // empty if the device is not known
    std::vector<int> clocks = {};  // MHz, highest first; empty if the device is not known
};
using RankDevices = std::function<NamedDevice(int rank)>;
RankDevices list_devices(const Job& job);
inline NamedDevice find_unknown_device(int /*rank*/) { return {}; }
// Returns the devices of --cluster; unknown ones if `devices` is empty. `devices` must outlive the result.
RankDevices list_devices(const std::optional<SimulatedDevices>& devices);

// Returns the costs in the file that --clock-costs names; nothing if it names none. Throws ConfigError if the
// file is not valid, or if --cost is set, too.
std::optional<plan::ClockCosts> read_clock_costs(const config::RunConfig& config);

// Returns costs without replicas: the facts about a run on which costs depend. `largest_microbatch` is that of
// training.
plan::ClockCosts describe_measured_run(const model::ModelConfig& model, device::DType dtype,
                                       const plan::Plan& plan, const stage::BatchShape& largest_microbatch);
// Throws ConfigError if the costs were measured in a run with other facts than `run`.
void check_measured_run(const plan::ClockCosts& costs, const plan::ClockCosts& run);

// Returns describe_measured_run() with one entry without measurements for each kind of replica of the plan.
plan::ClockCosts list_replica_kinds(const Job& job, const PlanState& state);
// Returns, per team, the index of its kind in `costs`. Throws ConfigError if the costs were measured with
// another number of stages, other layers, another number of ranks per replica, or other devices or clocks.
std::vector<std::size_t> match_replicas(const plan::ClockCosts& costs, const plan::Plan& plan,
                                        const RankDevices& find_device);

// Returns the costs of a step of the plan at all clocks down to the lowest measured one. Messages take no time.
// Throws the errors of match_replicas().
schedule::StepCosts make_measured_costs(const plan::ClockCosts& costs, const plan::Plan& plan,
                                        const RankDevices& find_device);

// Returns, per rank, the clocks at which costs are known, without their watts; an empty list for a rank without
// a stage. Throws the errors of match_replicas().
std::vector<std::vector<plan::DeviceClock>> list_measured_clocks(const plan::ClockCosts& costs,
                                                                 const plan::Plan& plan, int ranks);

// Returns the step that was measured at the highest clocks, without the joules of ranks that hold no stage.
StepFigures find_measured_baseline(const plan::ClockCosts& costs, const plan::Plan& plan,
                                   const RankDevices& find_device);

}  // namespace trireme::setup
