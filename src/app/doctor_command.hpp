// `trireme doctor`, with what only the environment and a run's rules know.
#pragma once

#include <iosfwd>

#include "trireme/tools/doctor.hpp"

namespace trireme::app {

// What the environment says of this process.
struct Surroundings {
    Job job = {};
    Start start = {};
    std::string search_path = {};
};

// Collective over all ranks; rank 0 alone writes to `out`: see tools/doctor.hpp.
ExitCode examine(const DoctorConfig& config, const Surroundings& process, const Session& session,
                 std::ostream& out);

}  // namespace trireme::app
