// ZERO-resizing (FlexTP): a slow rank skips input channels of its matmuls, so that it finishes at the same time
// as the other ranks. Results lack the terms of skipped channels, so losses differ from those of an exact run.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::policy {

struct ResizeRules {
    double max_skipped_fraction = 0.9;  // upper limit, as a fraction of a rank's matmuls
    // Minimum change of a rank's skipped fraction. If all changes are smaller, the plan changes only if a rank
    // no longer needs to skip channels.
    double min_change = 0.05;
};

// Returns one value per rank of a team: the fraction of its matmuls that the rank skips; 0 if the rank is not
// slow. `times` and `slowness` have one element per rank of the team. With these fractions, slow ranks take as
// long as the fastest rank takes without skipping, unless `max_skipped_fraction` is too small. Times that were
// measured with skipped channels are extrapolated to complete matmuls; otherwise the fractions would oscillate
// from decision to decision.
std::vector<double> balance_skipped_fractions(const std::vector<plan::RankTimes>& times,
                                              const std::vector<double>& slowness, double max_skipped_fraction);

// Decides for --straggler resize which channels ranks skip. Returns nothing if the plan stays.
std::optional<plan::Decision> decide_resizing(const ResizeRules& rules, const plan::Observation& observed,
                                              const plan::Plan& current);

}  // namespace trireme::policy
