// Parses a command line into a command.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "app/options/tool_options.hpp"
#include "app/tool_commands.hpp"
#include "trireme/config/config.hpp"
#include "trireme/tools/doctor.hpp"
#include "trireme/tools/prepare.hpp"
#include "trireme/tools/show_plan.hpp"
#include "trireme/tools/simulate.hpp"

namespace trireme::app {

struct ShowText {  // --help, --version
    std::string text;
};
struct TrainCommand {
    config::RunConfig config;
    bool dump_config = false;  // print config.ini_text instead of training
};
using Command = std::variant<ShowText, TrainCommand, config::EvaluateConfig, tools::PlanConfig,
                             tools::SimulateConfig, ProfileCommand, tools::DoctorConfig, tools::PrepareConfig,
                             tools::ConvertConfig, InspectConfig, ReportConfig>;

// Returns true if the command needs an MPI session: `train`, `evaluate`, `profile` and `doctor` may run on
// several ranks. Returns false if only the command's help is requested.
bool needs_session(std::span<const char* const> arguments);

// Parses the `arguments` after the program's name. `mpi` names the MPI library with which the program was
// built; --version prints it. Reads config files, and the options of a checkpoint that is resumed. Throws
// ConfigError if the command, an option or a value is invalid.
Command parse_command_line(std::span<const char* const> arguments, const std::string& mpi);

// Sets the options whose default depends on the number of ranks, and updates config.ini_text and
// config.options.
void set_rank_defaults(config::RunConfig& config, int ranks);

}  // namespace trireme::app
