// The commands that app completes: `trireme doctor`, `plan` and `profile`.
#pragma once

#include <iosfwd>

#include "trireme/config/config.hpp"
#include "trireme/tools/doctor.hpp"
#include "trireme/tools/profile.hpp"
#include "trireme/tools/show_plan.hpp"

namespace trireme::app {

// What the environment says of this process.
struct Surroundings {
    SlurmJob job = {};
    Start start = {};
    std::string search_path = {};
};

// Collective over all ranks; rank 0 alone writes to `out`: see tools/doctor.hpp.
ExitCode examine(const tools::DoctorConfig& config, const Surroundings& process, const comm::Session& session,
                 std::ostream& out);

// To the output that is named, or else to `out`. Throws ConfigError where the options make no plan and where
// the output cannot be made; ResourceError when the disk is full.
void show_plan(const tools::PlanConfig& config, std::ostream& out);

// `trireme profile`: measures what a layer of a run would cost.
struct ProfileCommand {
    config::RunConfig run;  // of which `batch` samples make the micro-batch
    tools::ProfileConfig profile;

    ProfileCommand() { run.run.batch = 1; }
};

// Collective over all ranks; rank 0 alone writes to `out`. Throws ConfigError where options make no model or
// micro-batch, and where the output cannot be made.
void measure(const ProfileCommand& command, const comm::Session& session, std::ostream& out);

}  // namespace trireme::app
