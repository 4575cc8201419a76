// Ranks that are made slow on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trireme/config/emulation.hpp"
#include "trireme/setup/slow_trace.hpp"

namespace trireme::setup {

// What of a run says whose turn it is in a step.
struct SlowTurns {
    int ranks = 1;
    std::size_t steps = 1;
    std::size_t samples = 1;  // of an epoch
    std::size_t batch = 1;    // samples of a step
    std::uint64_t seed = 1;
};

// Who is slow in a run, and when.
struct SlowRun {
    std::vector<config::SlowRank> slow = {};
    SlowTurns turns = {};
    std::map<std::string, SlowTrace> traces = {};  // by file
};

// Reads the traces. Throws ConfigError where one of them is none, the job has no such rank, or the run no such
// step. Communicates nothing.
SlowRun slow_run(std::vector<config::SlowRank> slow, const SlowTurns& turns);

// How many times as long a rank's kernels take in a step, from 1: the factors of all that name both multiply.
device::SlowFactors slowness_in(const SlowRun& run, int rank, std::size_t step);

// Whether that is, for some rank, another than in the step before.
bool changes_slowness(const SlowRun& run, std::size_t step);

// "rank 3 takes 4 times as long in steps 100 to 200; each rank in turn (an epoch each) takes 2 times as long"
std::string words_of(const std::vector<config::SlowRank>& slow);

}  // namespace trireme::setup
