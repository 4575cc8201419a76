// Describes the commands of the program and their options, and makes help, man page and completion from that.
#pragma once

#include <string>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

struct OptionHelp {
    OptionWords words;
    std::string default_text;  // empty if unset by default
    bool is_switch = false;
    bool is_common = true;  // if false, only `help COMMAND --all` shows it, because most runs do not need it
};

// Returns "--pipe N", or "--quiet" for a switch.
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
    bool takes_train_options = false;  // takes the options of `train` in addition to its own
};

// All commands, in the order in which general_help() lists them.
std::vector<CommandHelp> describe_commands();

std::vector<std::string> command_names();

// The list of commands with their summaries and the exit codes.
std::string general_help();

// The help of one command of command_names(). `extent` is "" for the options that most runs need, "--all" for
// all options, or the name of a group. Throws ConfigError if the command has no such group.
std::string command_help(const std::string& command, const std::string& extent = "");

std::string version_text(const std::string& mpi);

// The reference of all commands and options, as docs/reference/options.md,
// a man page, and a completion script for bash.
std::string markdown_reference();
std::string man_page();
std::string bash_completion();

}  // namespace trireme::app
