// The commands of the program with their options, as data for help, man page and completion.
#pragma once

#include <string>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

struct OptionHelp {
    OptionWords words;
    std::string default_text;  // empty: unset
    bool is_switch = false;
    bool is_common = true;  // false: most runs do without it, and only `help COMMAND --all` shows it
};

// "--pipe N", or "--resume" of a switch.
std::string name_and_form(const OptionHelp& option);

struct GroupHelp {
    std::string name;
    std::vector<OptionHelp> options;
};

struct CommandHelp {
    std::string name;
    std::string summary;              // a verb phrase for the list of commands
    std::vector<std::string> usages;  // without "trireme"
    std::string description;          // full sentences
    std::vector<GroupHelp> groups;
    bool takes_train_options = false;  // beside its own groups, those of `train`
};

// All commands, in the order of the list that help prints.
std::vector<CommandHelp> describe_commands();

std::vector<std::string> command_names();

}  // namespace trireme::app
