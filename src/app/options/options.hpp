// The options of the commands, by subject. They refer to
// the configuration that they set, which must outlive them.
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

// The options of `trireme train`, and of `evaluate` and `profile`, which share many of them. Grouped as in
// --help and in a config file.
std::vector<OptionGroup> train_options(config::RunConfig& config);

std::vector<OptionGroup> evaluate_options(config::EvaluateConfig& config);
std::vector<OptionGroup> profile_options(ProfileCommand& command);

// Throw ConfigError if options contradict each other, independent of machine, model and corpus.
void check_train_options(const config::RunConfig& config);
void check_evaluate_options(const config::EvaluateConfig& config);
void check_profile_options(const ProfileCommand& command);

// The options that only `trireme plan` has: how the plan is shown. It also takes those of `train`.
OptionGroup plan_options(tools::PlanConfig& config);

// The options of `train` that determine the kernel times of a simulation.
std::vector<Option> device_cost_options(config::RunConfig& config);

// The options that only `trireme simulate` has. It also takes those of `train`.
OptionGroup simulate_options(tools::SimulateConfig& config);

// Throws ConfigError if options of `simulate` are missing or invalid.
void check_simulate_options(const tools::SimulateConfig& config);

// The options of the section [run].
OptionGroup run_options(config::RunConfig& config);

// The options of the optimizer and its learning rate.
OptionGroup optimizer_options(optim::OptimizerConfig& optimizer);

// The options that determine when, how and why a run changes its plan.
std::vector<Option> policy_options(config::PolicyConfig& policy);

// The costs of stages: "F=1,I=1,W=1,send=0,reduce=0,step=0", or one such text per stage, separated by ';'.
// Costs that a text omits have their default.
Option cost_option(std::vector<schedule::StageCost>& costs);

// Measured profiles and the ranks that use them: "gpt2.json", "fast.json,slow.json",
// "0-3=fast.json,4-7=slow.json".
Option profile_option(std::vector<config::ProfileFile>& files);

// Ranks that are slowed down: "rank=3,factor=4,steps=100:200", "rank=turn,factor=4,every=50,on=products",
// "rank=random,factor=2:4", "trace=slow.csv", several such texts separated by ';', or "off". Repeatable.
Option slow_option(std::vector<config::SlowRank>& slow);

// The steps to trace: "5" or "5:8", counted from 1, or "off".
Option trace_option(device::TracedSteps& steps);

// Returns the values of `options` that a checkpoint saves: all
// except those that belong to a single start, such as --threads.
std::vector<config::OptionValue> values_to_save(const std::vector<OptionGroup>& options);

// Returns the saved options that a resumed run takes, as settings. Options that this version does not know are
// skipped. A layout option in `given` replaces the whole saved layout; --steps and --epochs replace each other.
std::vector<Setting> settings_to_take(const config::SavedOptions& saved, const std::set<std::string>& given,
                                      const std::vector<OptionGroup>& options);

// Resets saved options that have lost their effect through the options in `given`. Example: --min-lr, if
// --lr-schedule constant is given.
void reset_without_effect(const std::set<std::string>& given, const std::vector<OptionGroup>& options);

// Returns "--lr was 0.001" for each option whose value differs from the saved one.
std::vector<std::string> changes_since(const config::SavedOptions& saved,
                                       const std::vector<OptionGroup>& options);

}  // namespace trireme::app
