// Layouts to which a run may change, and the functions that propose them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme::policy {

struct Cause {
    std::string proposer = {};  // name of the proposer, for example "uneven"
    std::string reason = {};    // explains the proposal to users
};

struct Candidate {
    layout::Layout layout;
    std::vector<Cause> causes = {};  // one per proposer that changed the layout, in their order
};

// Returns variations of a candidate. A proposer never judges: an Outlook predicts the times of its candidates,
// and decide() compares them. A proposer is a pure function, so all ranks propose the same.
using Proposer =
    std::function<std::vector<Candidate>(const plan::Observation& observed, const Candidate& candidate)>;

}  // namespace trireme::policy
