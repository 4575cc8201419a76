// The commands of the program with their options, and the help, man page and completion made of them.
#pragma once

#include <string>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

// The commands of the program with their options, as data for help, man page and completion.
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

// The list of commands.
std::string general_help();

// The help of one of command_names(). `extent` is "" for the options that most runs need, "--all" for all, or
// the name of a group. Throws ConfigError if the command has no such group.
std::string command_help(const std::string& command, const std::string& extent = "");

std::string version_text(const std::string& mpi);

// The reference of all commands and options: docs/reference/options.md, a man page, and a completion script for
// bash.
std::string markdown_reference();
std::string man_page();
std::string bash_completion();

}  // namespace trireme::app
