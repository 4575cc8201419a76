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

// Returns the settings of one file, in their order. Throws ConfigError, with file and line, for a syntax error,
// an unknown section or option (and suggests a similar one), an option in the wrong section, and an option that
// occurs twice but is not repeatable.
std::vector<Setting> read_config_file(const std::filesystem::path& path,
                                      const std::vector<OptionGroup>& groups);

// The first function returns a group with the option --config, the second one a group with --config and
// --dump-config. --config sets `file`, and --dump-config sets `dump`.
OptionGroup make_config_file_group(std::string& file);
OptionGroup make_config_options(std::string& file, bool& dump);

// Returns the text of a config file with every option and its value, under the comment `title`. Reading this
// file yields the same configuration.
std::string format_config_file(const std::string& title, const std::vector<OptionGroup>& groups);

}  // namespace trireme::app
