// The way of saved options from a checkpoint into a configuration.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/options/option.hpp"
#include "trireme/config/saved_options.hpp"

namespace trireme::app {

// The values of `options` that a checkpoint keeps: all but those of one start on one machine, such as
// --threads.
std::vector<OptionValue> values_to_save(const std::vector<OptionGroup>& options);

// The saved options that a resumed run takes, as settings: those that this version knows and that do not
// contradict the options that are `given` anew. A layout that is given replaces all of the saved one, --steps
// also --epochs.
std::vector<Setting> settings_to_take(const SavedOptions& saved, const std::set<std::string>& given,
                                      const std::vector<OptionGroup>& options);

// Sets saved options back to their defaults that have no effect beside those that are given: --min-lr, if
// --lr-schedule constant is given.
void reset_without_effect(const std::set<std::string>& given, const std::vector<OptionGroup>& options);

// "--lr was 0.001", for each option whose value is not the saved one.
std::vector<std::string> changes_since(const SavedOptions& saved, const std::vector<OptionGroup>& options);

}  // namespace trireme::app
