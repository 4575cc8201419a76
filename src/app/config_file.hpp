// Reads and writes options as INI files:
//
//   # a comment
//   [run]
//   batch = 16        # a comment too
//   run-dir = "runs/with # and spaces "
//
// Sections are the groups of --help; an option may also stand before the first section. Boost's reader is not
// used, because it reports no line numbers and ends every value at a '#'.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

// Returns the settings of one file, in order. Throws ConfigError, with file and line, for a syntax error, for
// an unknown section or option (and names the nearest known one), for an option in the wrong section, and for
// an option that is given twice.
std::vector<Setting> read_config_file(const std::filesystem::path& path,
                                      const std::vector<OptionGroup>& groups);

// The option --config alone, and the options --config and --dump-config.
OptionGroup config_file_option(std::string& file);
OptionGroup config_options(std::string& file, bool& dump);

// Returns a file with every option and its value, under `title`. It reads back to the same configuration.
std::string config_text(const std::string& title, const std::vector<OptionGroup>& groups);

}  // namespace trireme::app
