// The options of `trireme train`.
#pragma once

#include <vector>

#include "app/option.hpp"
#include "trireme/train/config.hpp"

namespace trireme::app {

// Grouped as in --help and in a config file. The options refer to `config`, which must outlive them.
std::vector<OptionGroup> train_options(RunConfig& config);

// Throws ConfigError where options contradict each other whatever the machine, the model and the corpus.
void check_train_options(const RunConfig& config);

}  // namespace trireme::app
