// Slow ranks, and the reasons and the terms of decisions about them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "trireme/plan/observation.hpp"

namespace trireme::policy {

inline bool is_any_rank_slow(const plan::Observation& observed) {
    return std::ranges::any_of(observed.slowness, [](double factor) { return factor > 1; });
}

// True if the slowness of a rank differs by more than its variation from step to step. An empty list means that
// no rank is slow.
inline bool has_slowness_changed(const std::vector<double>& known, const std::vector<double>& observed) {
    constexpr double max_variation = 0.05;
    for (std::size_t rank = 0; rank < observed.size(); ++rank) {
        const double before = known.empty() ? 1 : known[rank];
        if (std::abs(observed[rank] - before) > max_variation * before) return true;
    }
    return false;
}

// Returns e.g. "rank 3 takes 4.0 times as long as others", with one clause per slow rank, or "no rank is slow
// any more".
inline std::string describe_slowness(const plan::Observation& observed) {
    std::string reason;
    for (std::size_t rank = 0; rank < observed.slowness.size(); ++rank) {
        if (observed.slowness[rank] == 1) continue;
        reason += fmt::format("{}rank {} takes {:.1f} times as long as others", reason.empty() ? "" : ", ",
                              rank, observed.slowness[rank]);
    }
    return reason.empty() ? "no rank is slow any more" : reason;
}

// Returns the terms of a decision: the predicted gain in seconds per step, the observed seconds of a step, and
// the predicted seconds of a step after the change.
inline std::map<std::string, double> make_gain_terms(const plan::Observation& observed, double gain_seconds) {
    return {{"gain_s", gain_seconds},
            {"step_s", observed.step_seconds},
            {"predicted_step_s", std::max(0.0, observed.step_seconds - gain_seconds)}};
}

}  // namespace trireme::policy
