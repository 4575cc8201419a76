// Runs of shapes and costs alone, in simulated time.
#pragma once

#include "trireme/config/config.hpp"
#include "trireme/layout/pieces.hpp"

namespace trireme::setup {

bool is_of_ghosts(const config::RunConfig& config);

// True if ranks charge whole passes instead of single kernels: with many ranks, unless the options say
// otherwise.
bool charges_passes(const config::RunConfig& config, int ranks);

// With many ranks gradients travel in fewer, larger messages, because every message costs the simulator the
// same.
layout::BucketRules ghost_buckets(int ranks);

inline constexpr int max_ranks_in_detail = 64;

// Throws ConfigError where ghosts are asked for what only values can give, or outside of simulated time, and
// where numbers are that only ghosts have.
void check_ghosts(const config::RunConfig& config);
// Of what computes by itself: `what` is "an evaluation".
void refuse_ghosts(const config::RunConfig& config, const std::string& what);

}  // namespace trireme::setup
