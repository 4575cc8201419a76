// Runs of shapes and costs alone, in simulated time.
#pragma once

#include "trireme/config/config.hpp"

namespace trireme {

bool is_of_ghosts(const RunConfig& config);

// Throws ConfigError where ghosts are asked for what only values can give, or outside of simulated time, and
// where numbers are that only ghosts have.
void check_ghosts(const RunConfig& config);
// Of what computes by itself: `what` is "an evaluation".
void refuse_ghosts(const RunConfig& config, const std::string& what);

}  // namespace trireme
