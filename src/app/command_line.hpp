// Splits a command line into settings and other words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

struct SplitLine {
    std::vector<Setting> settings;        // in the order given
    std::vector<std::string> positional;  // what belongs to no option
};

// `arguments` follow the command's name. Throws ConfigError for an unknown option (the nearest known one
// named), one without its value, and one given twice that may not be.
SplitLine split_line(const std::string& command, std::span<const char* const> arguments,
                     const std::vector<OptionGroup>& groups);

}  // namespace trireme::app
