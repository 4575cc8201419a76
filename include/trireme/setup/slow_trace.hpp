// Traces: CSV files that say which ranks are slow in which steps.
//
//   step,rank,factor,on        the last column may be omitted or empty: all
//   # a device that is throttled, and recovers
//   3,1,4,all
//   5,0,2,products
//   9,1,1,all
//
// From the step on, which counts from 1, the rank's kernels take `factor` times as long; 1 means normal speed.
// A line replaces earlier lines of the same rank. Lines are in the order of their steps.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "trireme/device/slowness.hpp"

namespace trireme::setup {

struct SlowTrace {
    // By rank, then by the step in which they begin.
    std::map<int, std::map<std::size_t, device::SlowFactors>> of_ranks;
    std::set<std::size_t> changes;  // steps in which the factors of a rank change
};

// Throws ConfigError if the text is no trace of a job of `ranks` ranks, naming the line in `file`.
SlowTrace slow_trace_from_csv(std::string_view text, const std::string& file, int ranks);

device::SlowFactors slowness_in(const SlowTrace& trace, int rank, std::size_t step);

}  // namespace trireme::setup
