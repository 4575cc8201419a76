// The rules of the proposers of layouts, from facts about model, plan and links.
#pragma once

#include <vector>

#include "trireme/plan/stage_work.hpp"
#include "trireme/policy/depth.hpp"
#include "trireme/policy/length.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// The facts on which the rules depend, in addition to the job. The objects must outlive the rules.
struct RuleFacts {
    const setup::Job& job;
    const setup::PlanState& current;  // all plans have its recomputation
    const layout::Layout& origin;     // layout of the options: teams of equal size, which all layouts keep
    int frozen = 0;                   // number of frozen blocks
};

policy::LengthRules make_length_rules(const RuleFacts& facts);
// The caller sets DepthRules::predict.
policy::DepthRules make_depth_rules(const RuleFacts& facts);

// Returns the counts of a typical micro-batch of a step with samples of these lengths.
plan::MicrobatchShape make_typical_microbatch(const setup::Job& job, const std::vector<std::uint32_t>& lengths,
                                              int microbatches);

}  // namespace trireme::adapt
