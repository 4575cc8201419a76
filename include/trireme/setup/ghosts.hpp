// Ghost runs: shapes and costs without values, in simulated time.
#pragma once

#include "trireme/config/config.hpp"
#include "trireme/layout/pieces.hpp"

namespace trireme::setup {

bool is_of_ghosts(const config::RunConfig& config);

// True if ranks charge the cost of whole passes instead of single kernels. By default they do so if there are
// many ranks.
bool charges_passes(const config::RunConfig& config, int ranks);

// Returns larger buckets if there are many ranks: every message costs the simulator the same, whatever its
// size.
layout::BucketRules ghost_buckets(int ranks);

// Maximum number of ranks that charge single kernels by default.
inline constexpr int max_ranks_in_detail = 64;

// Throws ConfigError if a ghost run has options that need values or real time. Also throws if --slow or --dtype
// does not suit the device of another run.
void check_ghosts(const config::RunConfig& config);
// Throws ConfigError if the run is a ghost run; `what` needs values, e.g. "an evaluation". Otherwise calls
// check_ghosts().
void refuse_ghosts(const config::RunConfig& config, const std::string& what);

}  // namespace trireme::setup
