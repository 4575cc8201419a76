// Who is slow when, as a file says:
//
//   step,rank,factor,on        the last column may be left out, or empty: all
//   # a device that is throttled, and recovers
//   3,1,4,all
//   5,0,2,products
//   9,1,1,all
//
// From that step on, counted from 1, the rank's kernels take so many times as long; 1 ends it. A line replaces
// what the rank's line before it said; lines stand in the order of their steps.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "trireme/device/slowness.hpp"

namespace trireme::setup {

struct SlowTrace {
    std::map<int, std::map<std::size_t, device::SlowFactors>> of_ranks;  // by the step that they begin in
    std::set<std::size_t> changes;  // steps in which a rank gets other factors
};

// Throws ConfigError for a text that is no trace of a job of so many ranks, naming the line in `file`.
SlowTrace slow_trace_from_csv(std::string_view text, const std::string& file, int ranks);

device::SlowFactors slowness_in(const SlowTrace& trace, int rank, std::size_t step);

}  // namespace trireme::setup
