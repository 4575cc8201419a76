// The options of `trireme train` and of `trireme evaluate`, which shares many of them.
#pragma once

#include <vector>

#include "app/option.hpp"
#include "trireme/train/config.hpp"

namespace trireme::app {

// Grouped as in --help and in a config file. The options refer to `config`, which must outlive them.
std::vector<OptionGroup> train_options(RunConfig& config);

std::vector<OptionGroup> evaluate_options(EvaluateConfig& config);

// Throws ConfigError where options contradict each other whatever the machine, the model and the corpus.
void check_train_options(const RunConfig& config);
void check_evaluate_options(const EvaluateConfig& config);

}  // namespace trireme::app
