// Options in INI files:
//
//   # a comment
//   [run]
//   batch = 16        # a comment too
//   run-dir = "runs/with # and spaces "
//
// Sections are the groups of --help; an option may also stand before the first section. Read here and not by
// Boost, which knows no line numbers and ends every value at a '#'.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

// The settings of one file, in order. Throws ConfigError, with file and line, for what cannot be read, for an
// unknown section or option (the nearest known one named), for one in a foreign section, and for one given
// twice.
std::vector<Setting> read_config_file(const std::filesystem::path& path,
                                      const std::vector<OptionGroup>& groups);

// The options that choose and print config files; the first one alone.
OptionGroup config_file_option(std::string& file);
OptionGroup config_options(std::string& file, bool& dump);

// A file that reads back to the same configuration: every option with its value, under `title`.
std::string config_text(const std::string& title, const std::vector<OptionGroup>& groups);

}  // namespace trireme::app
