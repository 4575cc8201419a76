// The options of the commands, by subject. They refer to what they set, which must outlive them.
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

// Throws ConfigError where options contradict each other whatever the machine, the model and the corpus.
void check_train_options(const config::RunConfig& config);
void check_evaluate_options(const config::EvaluateConfig& config);
void check_profile_options(const ProfileCommand& command);

// The options of `trireme plan`: those of `train`, and how the plan is shown.
OptionGroup plan_options(tools::PlanConfig& config);

// Of `train`: what kernels take in a simulation.
std::vector<Option> device_cost_options(config::RunConfig& config);

// The options of `trireme simulate`: those of `train`, and what stands around them.
OptionGroup simulate_options(tools::SimulateConfig& config);

// Throws ConfigError where options of `simulate` are missing, or ask for what there is not.
void check_simulate_options(const tools::SimulateConfig& config);

// The options of the section [run].
OptionGroup run_options(config::RunConfig& config);

// The options of the optimizer and its learning rate.
OptionGroup optimizer_options(optim::OptimizerConfig& optimizer);

// When a run changes its plan, how, and why.
std::vector<Option> policy_options(config::PolicyConfig& policy);

// What stages cost: "F=1,I=1,W=1,send=0,reduce=0,step=0", or such texts with ; between them, one for each
// stage. What a text leaves out costs as much as by default.
Option cost_option(std::vector<schedule::StageCost>& costs);

// What was measured, and whose it is: "gpt2.json", "fast.json,slow.json", "0-3=fast.json,4-7=slow.json".
Option profile_option(std::vector<config::ProfileFile>& files);

// Ranks that are made slow: "rank=3,factor=4,steps=100:200", "rank=turn,factor=4,every=50,on=products",
// "rank=random,factor=2:4" or "trace=slow.csv", or several such texts with ; between them, or "off".
// May be given several times.
Option slow_option(std::vector<config::SlowRank>& slow);

// The steps to trace: "5" or "5:8", counted from 1, or "off".
Option trace_option(device::TracedSteps& steps);

// The values of `options` that a checkpoint keeps: all but those of one start on one machine, such as
// --threads.
std::vector<config::OptionValue> values_to_save(const std::vector<OptionGroup>& options);

// The saved options that a resumed run takes, as settings: those that this version knows and that do not
// contradict the options that are `given` anew. A layout that is given replaces all of the saved one, --steps
// also --epochs.
std::vector<Setting> settings_to_take(const config::SavedOptions& saved, const std::set<std::string>& given,
                                      const std::vector<OptionGroup>& options);

// Sets saved options back to their defaults that have no effect beside those that are given: --min-lr, if
// --lr-schedule constant is given.
void reset_without_effect(const std::set<std::string>& given, const std::vector<OptionGroup>& options);

// "--lr was 0.001", for each option whose value is not the saved one.
std::vector<std::string> changes_since(const config::SavedOptions& saved,
                                       const std::vector<OptionGroup>& options);

}  // namespace trireme::app
