// What was measured, and whose it is: "gpt2.json", "fast.json,slow.json", "0-3=fast.json,4-7=slow.json".
#pragma once

#include <vector>

#include "app/options/option.hpp"
#include "trireme/config/config.hpp"

namespace trireme::app {

// The option refers to `files`, which must outlive it.
Option profile_option(std::vector<ProfileFile>& files);

}  // namespace trireme::app
