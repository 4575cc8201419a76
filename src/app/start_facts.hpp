// The facts of a rank's start that are compared with the other ranks.
#pragma once

#include <vector>

#include "app/command.hpp"
#include "trireme/setup/agreed_start.hpp"

namespace trireme::app {

// The command, the version of the sources, and every option in the form that it is read in, except --run-dir
// (the checkpoint found there is compared later) and --threads (nodes may differ). `doctor` reports different
// versions itself.
std::vector<Fact> start_facts(Command command);

// The value of --stall-timeout, or its default where the command has no such option.
double stall_seconds(const Command& command);

}  // namespace trireme::app
