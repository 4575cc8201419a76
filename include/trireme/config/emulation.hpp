// What the machine is made to look like, to try things. Nothing that decides may read it: it has to see a slow
// rank in what was measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::config {

// A rank that is named, all of them in turn, one that is drawn by lot, or whom a file names.
enum class SlowChoice : std::uint8_t { named, turn, random, trace };

// The kernels of it that are: all, or matrix products with weights alone, so that what is left out of these is
// not slowed (as FlexTP was tried).
enum class SlowKernels : std::uint8_t { all, products };

// A rank whose kernels take `factor` times as long in some steps, counted from 1. Of a trace, which says the
// rest by itself, only the file counts.
struct SlowRank {
    int rank = 0;  // that is named
    double factor = 1;
    std::size_t first_step = 1;
    std::optional<std::size_t> last_step = {};  // none: to the end
    SlowChoice choice = SlowChoice::named;
    SlowKernels on = SlowKernels::all;
    std::optional<std::size_t> every = {};      // steps from one turn or lot to the next; none: an epoch
    std::optional<double> highest_factor = {};  // of random ones: drawn from `factor` to this
    std::string trace = {};                     // a file: see train/slow_trace.hpp
};

struct EmulationConfig {
    std::vector<SlowRank> slow;
};

}  // namespace trireme::config
