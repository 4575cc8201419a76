// Emulated slow ranks, for experiments (--slow). No policy may read these settings: policies have to detect
// slow ranks from measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::config {

// Selects the slow rank: a given one, each rank in turn, a randomly drawn one, or those that a trace file
// lists.
enum class SlowChoice : std::uint8_t { named, turn, random, trace };

// Selects the slow kernels: all, or only matmuls with weights. In the latter case skipped channels cost no
// extra time (as in the experiments of FlexTP).
enum class SlowKernels : std::uint8_t { all, products };

// A rank whose kernels take `factor` times as long in some steps. Steps count from 1. With SlowChoice::trace
// only `trace` is used.
struct SlowRank {
    int rank = 0;  // for SlowChoice::named
    double factor = 1;
    std::size_t first_step = 1;
    std::optional<std::size_t> last_step = {};  // if unset, the last step of the run
    SlowChoice choice = SlowChoice::named;
    SlowKernels on = SlowKernels::all;
    std::optional<std::size_t> every = {};      // steps per turn or random choice; if unset, an epoch
    std::optional<double> highest_factor = {};  // with SlowChoice::random, factors are drawn up to this value
    std::string trace = {};                     // path of a trace; see setup/slow_trace.hpp
};

struct EmulationConfig {
    std::vector<SlowRank> slow;
};

}  // namespace trireme::config
