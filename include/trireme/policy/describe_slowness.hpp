// Slow ranks, and the reasons and the terms of decisions about them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "trireme/plan/observation.hpp"

namespace trireme::policy {

inline bool is_any_rank_slow(const plan::Observation& observed) {
    return std::ranges::any_of(observed.slowness, [](double factor) { return factor > 1; });
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
