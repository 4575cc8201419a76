// Options that have an effect only beside other options.
#pragma once

#include <string>

namespace trireme {

// The condition under which an option has an effect, in words, and a setting that meets it.
struct OptionNeed {
    std::string condition;  // "a policy that moves state"
    std::string remedy;     // "--straggler uneven"
};

// "--horizon has no effect without a policy that moves state; set --straggler uneven or drop --horizon"
std::string no_effect(const std::string& option, const OptionNeed& need);

}  // namespace trireme
