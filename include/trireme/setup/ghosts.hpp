// Ghost runs: tensors have shapes and kernels have costs, but there are no values. Time is simulated.
#pragma once

#include "trireme/config/config.hpp"
#include "trireme/layout/pieces.hpp"

namespace trireme::setup {

bool is_ghost_run(const config::RunConfig& config);

// True if ranks add the cost of a whole forward or backward pass to the simulated time at once, instead of the
// cost of each kernel. By default they do so in jobs of more than max_ranks_charging_kernels ranks.
bool charges_passes(const config::RunConfig& config, int ranks);

// Returns rules for larger buckets if there are many ranks: simulating a message takes equally long for every
// message size, so fewer and larger messages save time.
layout::BucketRules make_ghost_bucket_rules(int ranks);

// Maximum number of ranks of a job whose ranks, by default, add the cost of each kernel to the simulated time.
inline constexpr int max_ranks_charging_kernels = 64;

// Throws ConfigError if a ghost run has options that need values or real time. For any other run, throws if
// --slow or --dtype does not suit the device.
void check_ghosts(const config::RunConfig& config);
// Throws ConfigError if the run is a ghost run, because `purpose`, e.g. "an evaluation", needs values.
// Otherwise calls check_ghosts().
void reject_ghost_run(const config::RunConfig& config, const std::string& purpose);

}  // namespace trireme::setup
