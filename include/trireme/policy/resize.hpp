// ZERO-resizing (FlexTP): a slow rank skips channels of its matmuls such that it finishes with the others. The
// skipped terms are lost, so losses differ from those of a single rank.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/policy/policy.hpp"

namespace trireme::policy {

struct ResizeRules {
    std::size_t every = 10;      // steps between two decisions
    double limit = 0.9;          // maximum fraction that a rank skips
    double least_change = 0.05;  // smaller changes are not worth new channel lists
};

// Returns the fraction of its matmuls that each rank of a team skips. Each slow rank then takes as long as the
// fastest rank takes without skipping. Times are extrapolated to unskipped matmuls for this comparison; a rule
// that takes the measured times for whole ones never settles.
std::vector<double> parts_to_leave_out(const std::vector<plan::RankTimes>& times,
                                       const std::vector<double>& slowness, double limit);

// Returns the policy of --straggler resize.
Policy resized_products(ResizeRules rules);

}  // namespace trireme::policy
