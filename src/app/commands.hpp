// The commands of the program with their options, and the help, man page and completion that are generated from
// them.
#pragma once

#include <string>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

struct OptionHelp {
    OptionDescription description;
    std::string default_text;  // default value; empty if unset by default
    bool is_switch = false;
    bool is_common = true;  // most runs need it; other options are shown only by `help COMMAND --all`
};

// Returns "--pipe N", or "--quiet" for a switch.
std::string format_name_and_value(const OptionHelp& option);

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
    bool takes_train_options = false;  // takes the options of `train` in addition to its own
};

// Returns all commands, in the order in which format_general_help() lists them.
std::vector<CommandHelp> describe_commands();

std::vector<std::string> list_command_names();

// Returns the list of commands with their summaries, and the exit codes.
std::string format_general_help();

// Returns the help of one command of list_command_names(). `selection` is "" for the options that most runs
// need, "--all" for all options, or the name of a group. Throws ConfigError if the command has no such group.
std::string format_command_help(const std::string& command, const std::string& selection = "");

// Returns the text of --version. `mpi` names the MPI library with which the program was built.
std::string format_version(const std::string& mpi);

// The first two functions return the reference of all commands and options, as Markdown (the text of
// docs/reference/options.md) and as a man page. The third one returns a completion script for bash.
std::string format_markdown_reference();
std::string format_man_page();
std::string format_bash_completion();

}  // namespace trireme::app
