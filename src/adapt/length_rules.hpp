// The rules of the proposer that follows the lengths of samples, from facts about model, plan and links.
#pragma once

#include "trireme/policy/length.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// `job` must outlive the result. The layout of `current` must consist of teams of equal size, which all
// proposed layouts keep.
policy::LengthRules make_length_rules(const setup::Job& job, const setup::PlanState& current,
                                      const layout::Layout& origin);

}  // namespace trireme::adapt
