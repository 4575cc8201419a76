// Parses a command line that a test writes as one string: parse("train --steps 5").
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {

inline Command parse(const std::string& line) {
    std::istringstream in(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return parse_command_line(arguments, "openmpi");
}

// Returns the configuration of `train` with the options that every run needs: a corpus and a duration.
inline config::RunConfig train_config(const std::string& options) {
    return std::get<TrainCommand>(parse("train --corpus a.h5 --steps 5 " + options)).config;
}

// Returns the message of the ConfigError; empty if there is none.
inline std::string complaint(const std::string& line) {
    try {
        parse(line);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

}  // namespace trireme::app
