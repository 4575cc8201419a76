// Traces: CSV files that say which ranks are slow in which steps.
//
//   step,rank,factor,on        header; the column "on" may be omitted
//   # a device that is throttled, and recovers
//   3,1,4,all
//   5,0,2,products
//   9,1,1,all
//
// From step `step` on (steps count from 1), the kernels of rank `rank` take `factor` times as long: all
// kernels, or with "products" only matmuls. An empty "on" means "all". A factor of 1 means normal speed. A line
// replaces earlier lines of the same rank. Lines must be sorted by step.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "trireme/device/emulated_slowness.hpp"

namespace trireme::setup {

struct SlowTrace {
    // Keys: the rank, then the first step in which the factors apply.
    std::map<int, std::map<std::size_t, device::SlowFactors>> factors_by_rank;
    std::set<std::size_t> change_steps;  // steps in which the factors of a rank change
};

// Parses the text of the file `file`. Throws ConfigError, naming the line, if it is no trace of a job of
// `ranks` ranks.
SlowTrace parse_slow_trace(std::string_view text, const std::string& file, int ranks);

// Returns the factors of a rank in a step, 1 if the trace has none.
device::SlowFactors find_slowness(const SlowTrace& trace, int rank, std::size_t step);

}  // namespace trireme::setup
