// `trireme profile`: measures what a layer of a run would cost.
#pragma once

#include <iosfwd>

#include "trireme/config/config.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme::app {

struct ProfileCommand {
    RunConfig run;  // of which `batch` samples make the micro-batch
    ProfileConfig profile;

    ProfileCommand() { run.run.batch = 1; }
};

// Collective over all ranks; rank 0 alone writes to `out`. Throws ConfigError where options make no model or
// micro-batch, and where the output cannot be made.
void measure(const ProfileCommand& command, const Session& session, std::ostream& out);

}  // namespace trireme::app
