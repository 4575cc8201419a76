// ZERO-resizing (FlexTP): a slow rank skips input channels of its matmuls, so that it finishes at the same time
// as the other ranks. The result lacks the skipped terms, so losses differ from those of a single rank.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/policy/policy.hpp"

namespace trireme::policy {

struct ResizeRules {
    std::size_t period = 10;            // steps between two decisions
    double max_skipped_fraction = 0.9;  // of a rank's matmuls
    // Changes of a fraction by less than this do not justify a new choice of channels.
    double min_change = 0.05;
};

// Returns, per rank of a team, the fraction of its matmuls that it skips. Each slow rank then takes as long as
// the fastest rank takes without skipping. The measured times are extrapolated to matmuls without skipped
// channels; without this, the fractions would oscillate from decision to decision.
std::vector<double> balance_skipped_fractions(const std::vector<plan::RankTimes>& times,
                                              const std::vector<double>& slowness, double max_skipped_fraction);

// Returns the policy of --straggler resize.
Policy make_resize_policy(ResizeRules rules);

}  // namespace trireme::policy
