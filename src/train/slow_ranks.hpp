// Ranks that are made slow on purpose.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/train/emulation.hpp"

namespace trireme {

// Throws ConfigError where the job has no such rank, or the run no such step.
void check_slow_ranks(const std::vector<SlowRank>& slow, int ranks, std::size_t steps);

// How many times as long a rank's kernels take in a step, from 1: the factors of all that name both multiply.
double slowness_in(const std::vector<SlowRank>& slow, int rank, std::size_t step);

// Whether that is, for some rank, another than in the step before.
bool changes_slowness(const std::vector<SlowRank>& slow, std::size_t step);

// "rank 3 takes 4 times as long in steps 100 to 200; rank 1 takes 2 times as long"
std::string words_of(const std::vector<SlowRank>& slow);

}  // namespace trireme
