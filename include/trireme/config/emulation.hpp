// Emulated slow ranks, for experiments (--slow). No policy may read these settings: policies have to detect
// slow ranks from measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::config {

// Selects the slow rank: SlowRank::rank (`named`), each rank in turn, a random rank, or the ranks that a trace
// file lists.
enum class SlowChoice : std::uint8_t { named, turn, random, trace };

// Selects the slow kernels: all kernels, or only matmuls with weights. With `matmuls`, a channel that the slow
// rank skips causes no extra time (as in the experiments of FlexTP).
enum class SlowKernels : std::uint8_t { all, matmuls };

// A rank whose kernels take `factor` times as long from step first_step to step last_step, both included. Steps
// count from 1. With SlowChoice::trace, only the field `trace` is used.
struct SlowRank {
    int rank = 0;  // for SlowChoice::named
    double factor = 1;
    std::size_t first_step = 1;
    std::optional<std::size_t> last_step = {};  // if unset, the last step of the run
    SlowChoice choice = SlowChoice::named;
    SlowKernels kernels = SlowKernels::all;
    // Number of steps after which the next rank is selected, in turn or at random; if unset, one epoch.
    std::optional<std::size_t> every = {};
    // With SlowChoice::random, factors are drawn between `factor` and this value.
    std::optional<double> highest_factor = {};
    std::string trace = {};  // path of a trace file; see setup/slow_trace.hpp
};

struct EmulationConfig {
    std::vector<SlowRank> slow;
};

}  // namespace trireme::config
