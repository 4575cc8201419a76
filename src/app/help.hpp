// Help for the console, and the reference of all options in other formats.
#pragma once

#include <string>

namespace trireme::app {

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
