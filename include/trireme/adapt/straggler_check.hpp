// Whether what is asked to be done about slow ranks can be done.
#pragma once

#include "trireme/setup/setup.hpp"

namespace trireme {

// Throws ConfigError where --straggler could do nothing with the plan, or not as it is asked to.
void check_straggler(const RunConfig& config, const Plan& plan);

// Throws ConfigError where ranks cannot be helped and leave out something so.
void check_resized_help(const ResizeConfig& resize);

}  // namespace trireme
