// The rules of the proposer that follows the lengths of samples, from facts about model, plan and links.
#pragma once

#include "trireme/plan/stage_work.hpp"
#include "trireme/policy/length.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// `job` must outlive the result. The layout of `current` must consist of teams of equal size, which all
// proposed layouts keep.
policy::LengthRules make_length_rules(const setup::Job& job, const setup::PlanState& current,
                                      const layout::Layout& origin);

// Returns the counts of a typical micro-batch of a step with samples of these lengths.
plan::MicrobatchShape make_typical_microbatch(const setup::Job& job, const std::vector<std::uint32_t>& lengths,
                                              int microbatches);

}  // namespace trireme::adapt
