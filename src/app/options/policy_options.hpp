// When a run changes its plan, how, and why.
#pragma once

#include <vector>

#include "app/options/option.hpp"
#include "trireme/config/config.hpp"

namespace trireme::app {

// They refer to `policy`, which must outlive them.
std::vector<Option> policy_options(PolicyConfig& policy);

}  // namespace trireme::app
