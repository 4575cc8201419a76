// Ghost runs: tensors have shapes and kernels have costs, but there are no values. Time is simulated.
#pragma once

#include "trireme/config/config.hpp"
#include "trireme/layout/pieces.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::setup {

bool is_ghost_run(const config::RunConfig& config);

// True if ranks add one time per forward or backward pass to the simulated time; false if they add one time per
// kernel. By default true in jobs of more than max_ranks_charging_kernels ranks.
bool charges_passes(const config::RunConfig& config, int ranks);

// Returns rules for larger buckets if there are more than max_ranks_charging_kernels ranks, otherwise the
// default rules. The simulator takes equally long for messages of all sizes, so fewer and larger messages make
// the simulation faster.
layout::BucketRules make_ghost_bucket_rules(int ranks);

// Maximum number of ranks of a job in which, by default, ranks add the time of each kernel to the simulated
// time.
inline constexpr int max_ranks_charging_kernels = 64;

// Throws ConfigError if a ghost run lacks options that it needs, or has options that need values or real time.
// For any other run, throws ConfigError if --slow or --dtype does not suit the device.
void check_ghosts(const config::RunConfig& config);
// Throws ConfigError if a ghost run cannot execute the plan.
void check_ghost_plan(const config::RunConfig& config, const plan::Plan& plan);
// Throws ConfigError if the run is a ghost run, because `purpose`, e.g. "an evaluation", needs values.
// Otherwise calls check_ghosts().
void reject_ghost_run(const config::RunConfig& config, const std::string& purpose);

}  // namespace trireme::setup
