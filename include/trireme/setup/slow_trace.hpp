// Traces: CSV files that say which ranks are slow in which steps.
//
//   step,rank,factor,on        header; the column "on" may be omitted
//   # comment: a device that is throttled, and recovers
//   3,1,4,all
//   5,0,2,products
//   9,1,1,all
//
// From step `step` on (steps count from 1), kernels of rank `rank` take `factor` times as long. The column "on"
// selects these kernels: "all" selects every kernel, and "products" only matmuls with weights. An empty "on"
// means "all". A factor of 1 means normal speed. A line replaces all earlier lines of the same rank, including
// lines with another value of "on". Lines must be sorted by step. A step must not have two lines for the same
// rank.
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
    std::set<std::size_t> change_steps;  // steps in which the factors of any rank change
};

// Parses `text`, the content of the file `file`. Throws ConfigError, naming the line, if the text is not a
// valid trace for a job of `ranks` ranks.
SlowTrace parse_slow_trace(std::string_view text, const std::string& file, int ranks);

// Returns the factors of a rank in a step. They are 1 before the first line of the rank.
device::SlowFactors find_slowness(const SlowTrace& trace, int rank, std::size_t step);

}  // namespace trireme::setup
