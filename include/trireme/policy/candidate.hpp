// Plans to which a run may change, and the functions that propose them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme::policy {

using plan::Cause;

struct Candidate {
    layout::Layout layout;
    int microbatches = 0;            // per step, over all replicas
    std::string schedule = {};       // name of a schedule
    std::vector<Cause> causes = {};  // one per proposer that changed the candidate, in their order
};

// True if the candidates describe the same plan. Their causes may differ.
inline bool are_equal_plans(const Candidate& a, const Candidate& b) {
    return a.layout == b.layout && a.microbatches == b.microbatches && a.schedule == b.schedule;
}

// Returns variations of a candidate. A proposer never judges: an Outlook predicts the times of its candidates,
// and decide() compares them. All ranks propose the same, because an observation is equal on all ranks.
using Proposer =
    std::function<std::vector<Candidate>(const plan::Observation& observed, const Candidate& candidate)>;

}  // namespace trireme::policy
