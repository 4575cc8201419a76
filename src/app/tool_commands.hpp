// Runs the commands `doctor`, `plan` and `profile`. Their tools need values that only src/app can supply, such
// as environment variables.
#pragma once

#include <iosfwd>

#include "trireme/config/config.hpp"
#include "trireme/tools/doctor.hpp"
#include "trireme/tools/profile.hpp"
#include "trireme/tools/show_plan.hpp"

namespace trireme::app {

// Facts about this process that are read from environment variables.
struct EnvironmentFacts {
    SlurmJob job = {};
    ProcessStart start = {};
    std::string search_path = {};  // PATH
};

// Collective over all ranks. Runs `doctor` (tools/doctor.hpp); only rank 0 writes to `out`.
ExitCode run_doctor(const tools::DoctorConfig& config, const EnvironmentFacts& process,
                    const comm::Session& session, std::ostream& out);

// Writes the plan to the file `config.output`, or to `out` if `config.output` is empty. If `config.compare`
// names schedules, writes a comparison of these schedules in place of the plan. Throws ConfigError if the
// options allow no plan or the file cannot be created, and ResourceError if the disk is full.
void show_plan(const tools::PlanConfig& config, std::ostream& out);

// The configuration of `trireme profile`, which measures the cost of the layers of a run.
struct ProfileCommand {
    config::RunConfig run;  // all samples of run.run.batch form one micro-batch
    tools::ProfileConfig profile;

    ProfileCommand() { run.run.batch = 1; }
};

// Collective over all ranks. Runs `profile`; only rank 0 writes to `out`. Throws ConfigError if the options
// describe no valid model or micro-batch, or if the output file cannot be created.
void run_profile(const ProfileCommand& command, const comm::Session& session, std::ostream& out);

}  // namespace trireme::app
