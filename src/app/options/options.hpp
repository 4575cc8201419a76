// Functions that make the options of the commands. The options refer to the configuration that they set. The
// configuration must outlive the options.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/options/option.hpp"
#include "app/tool_commands.hpp"
#include "trireme/config/config.hpp"
#include "trireme/config/emulation.hpp"
#include "trireme/config/saved_options.hpp"
#include "trireme/tools/show_plan.hpp"
#include "trireme/tools/simulate.hpp"

namespace trireme::app {

// The options of `train`, `evaluate` and `profile`. These commands share many options. Each group is a section
// of a config file and of --help.
std::vector<OptionGroup> make_train_options(config::RunConfig& config);

std::vector<OptionGroup> make_evaluate_options(config::EvaluateConfig& config);
std::vector<OptionGroup> make_profile_options(ProfileCommand& command);

// Throw ConfigError if options contradict each other. These checks need no machine, model or corpus.
void check_train_options(const config::RunConfig& config);
void check_evaluate_options(const config::EvaluateConfig& config);
void check_profile_options(const ProfileCommand& command);

// The options that only `trireme plan` has: how to show the plan, the number of ranks, and the schedules to
// compare. `plan` also accepts the options of `train`.
OptionGroup make_plan_options(tools::PlanConfig& config);

// The options of `train` that determine the times of kernels and messages in a simulation.
std::vector<Option> make_device_cost_options(config::RunConfig& config);

// The options that only `trireme simulate` has. `simulate` also accepts the options of `train`.
OptionGroup make_simulate_options(tools::SimulateConfig& config);

// Throws ConfigError if options of `simulate` are missing or invalid.
void check_simulate_options(const tools::SimulateConfig& config);

// The options of the section [run].
OptionGroup make_run_options(config::RunConfig& config);

// The options of the optimizer and its learning rate.
OptionGroup make_optimizer_options(optim::OptimizerConfig& optimizer);

// The options of steps that follow a property of the run: --elastic and its means.
std::vector<Option> make_elastic_options(config::PolicyConfig& policy);

// The options of the policies that change the plan of a run.
std::vector<Option> make_policy_options(config::PolicyConfig& policy);

// The costs of stages: "F=1,I=1,W=1,send=0,reduce=0,step=0", or one such text per stage, separated by ';'.
// Costs that a text omits have their default value. F: forward pass, I: input gradients, W: weight gradients,
// send: a message, reduce: the gradient all-reduce, step: the optimizer step.
Option make_cost_option(std::vector<schedule::StageCost>& costs);

// Measured profiles and the ranks that use them: "gpt2.json", "fast.json,slow.json",
// "0-3=fast.json,4-7=slow.json".
Option make_profile_option(std::vector<config::ProfileFile>& files);

// Ranks that are slowed down: "rank=3,factor=4,steps=100:200", "rank=turn,factor=4,every=50,on=products",
// "rank=random,factor=2:4", "trace=slow.csv", several such texts separated by ';', or "off". Repeatable.
Option make_slow_option(std::vector<config::SlowRank>& slow);

// The steps to trace: "5" or "5:8", counted from 1, or "off".
Option make_trace_option(device::TracedSteps& steps);

// Returns the values of `options` that a checkpoint saves: all values except those of options that apply to a
// single start, such as --threads.
std::vector<config::OptionValue> collect_values_to_save(const std::vector<OptionGroup>& options);

// Returns the saved options that a resumed run adopts, as settings. `given_names` are the options that the user
// has written. Options that this version does not know are skipped. A layout option in `given_names` replaces
// all saved layout options; --steps and --epochs replace each other.
std::vector<Setting> select_saved_settings(const config::SavedOptions& saved,
                                           const std::set<std::string>& given_names,
                                           const std::vector<OptionGroup>& options);

// Resets to its default each saved option that has no effect together with the options in `given_names`, which
// the user has written. Example: --min-lr, after --lr-schedule constant.
void reset_ineffective_options(const std::set<std::string>& given_names,
                               const std::vector<OptionGroup>& options);

// Returns one text for each option whose value differs from the saved one: for example "--lr was 0.001", or
// "--lr was not given" if no value was saved.
std::vector<std::string> describe_changes(const config::SavedOptions& saved,
                                          const std::vector<OptionGroup>& options);

}  // namespace trireme::app
