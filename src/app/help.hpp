// What --help and --version print.
#pragma once

#include <string>
#include <vector>

#include "app/option.hpp"

namespace trireme::app {

std::vector<std::string> command_names();

std::string general_help();
std::string command_help(const std::string& command);  // one of command_names()
std::string version_text(const std::string& mpi);

// The options that choose and print options; the first of them alone.
OptionGroup config_file_option(std::string& file);
OptionGroup config_options(std::string& file, bool& dump);

}  // namespace trireme::app
