// The options of `trireme train`, and of `evaluate` and `profile`, which share many of them.
#pragma once

#include <vector>

#include "app/options/option.hpp"
#include "app/profile_command.hpp"
#include "trireme/config/config.hpp"

namespace trireme::app {

// Grouped as in --help and in a config file. The options refer to `config`, which must outlive them.
std::vector<OptionGroup> train_options(RunConfig& config);

std::vector<OptionGroup> evaluate_options(EvaluateConfig& config);
std::vector<OptionGroup> profile_options(ProfileCommand& command);

// Throws ConfigError where options contradict each other whatever the machine, the model and the corpus.
void check_train_options(const RunConfig& config);
void check_evaluate_options(const EvaluateConfig& config);
void check_profile_options(const ProfileCommand& command);

}  // namespace trireme::app
