// Ranks that are slowed on purpose (--slow).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trireme/config/emulation.hpp"
#include "trireme/setup/slow_trace.hpp"

namespace trireme::setup {

// The properties of a run that determine which rank is slow in a step.
struct SlowTurns {
    int ranks = 1;
    std::size_t steps = 1;
    std::size_t samples = 1;  // samples per epoch
    std::size_t batch = 1;    // samples per step
    std::uint64_t seed = 1;
};

// The slow ranks of a run and their steps.
struct SlowRun {
    std::vector<config::SlowRank> slow = {};
    SlowTurns turns = {};
    std::map<std::string, SlowTrace> traces = {};  // by file name
};

// Reads the traces. Throws ConfigError if a file is no trace, or if a rank or step does not exist in the job.
// Communicates nothing.
SlowRun slow_run(std::vector<config::SlowRank> slow, const SlowTurns& turns);

// Returns the factors by which a rank's kernels take longer in a step, at least 1. Factors of several entries
// multiply.
device::SlowFactors slowness_in(const SlowRun& run, int rank, std::size_t step);

// True if the factors of some rank differ from those in the step before.
bool changes_slowness(const SlowRun& run, std::size_t step);

// Returns e.g. "rank 3 takes 4 times as long in steps 100 to 200; each rank in turn (an epoch each) takes 2
// times as long".
std::string words_of(const std::vector<config::SlowRank>& slow);

}  // namespace trireme::setup
