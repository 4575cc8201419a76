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

// The properties of a run that determine in which steps an entry of --slow slows which rank.
struct SlowSchedule {
    int ranks = 1;            // number of ranks
    std::size_t steps = 1;    // steps of the whole run
    std::size_t samples = 1;  // samples per epoch
    std::size_t batch = 1;    // samples per step
    std::uint64_t seed = 1;
};

// The entries of --slow, and the data that determine the slow ranks of a step.
struct SlowRun {
    std::vector<config::SlowRank> entries = {};
    SlowSchedule schedule = {};
    std::map<std::string, SlowTrace> traces = {};  // by path
};

// Reads the trace files that the entries name. Throws ConfigError if a file cannot be read or is no trace. Also
// throws if an entry or a trace names a rank that the job does not have, or begins after the last step of the
// run. Not collective.
SlowRun read_slow_run(std::vector<config::SlowRank> entries, const SlowSchedule& schedule);

// Returns the factors, at least 1, by which a rank's kernels take longer in a step. Steps count from 1. The
// factors of entries that slow the same rank are multiplied.
device::SlowFactors find_slowness(const SlowRun& run, int rank, std::size_t step);

// True if the slowed ranks or their factors, by any entry or trace, differ between the steps `step` - 1 and
// `step`. In step 0 no rank is slow.
bool has_slowness_change(const SlowRun& run, std::size_t step);

// Describes the entries for users, for example: "rank 3 takes 4 times as long in steps 100 to 200; each rank in
// turn (an epoch each) takes 2 times as long".
std::string describe(const std::vector<config::SlowRank>& entries);

}  // namespace trireme::setup
