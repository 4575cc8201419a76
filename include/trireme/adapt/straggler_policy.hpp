// Makes the policy of --straggler, with the facts that it needs about model, plan and links.
#pragma once

#include "trireme/layout/links.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/policy/sharing.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// Makes the policy that --straggler requests. `healthy` is the layout for equally fast ranks, `nodes` the node
// of each rank, `link` the link between the ranks of a team (without bandwidth if not yet measured).
policy::Policy straggler_policy(const setup::Job& job, const setup::PlanState& current,
                                const layout::Layout& healthy, const std::vector<int>& nodes,
                                const layout::Link& link);

// True if the plan's schedule can execute other stage boundaries.
bool may_cut_elsewhere(const plan::Plan& plan);
// True if the plan's schedule can execute different numbers of micro-batches per replica.
bool may_take_uneven_turns(const plan::Plan& plan);

// Returns the communication costs of migrations per step, for the team where they are highest.
policy::HelpCosts help_costs(const setup::Job& job, const setup::PlanState& current, const layout::Link& link);

// Throws ConfigError if --straggler cannot change anything in the plan, or if its options do not fit the plan.
void check_straggler(const config::RunConfig& config, const plan::Plan& plan);

// Throws ConfigError if ranks with helpers cannot prune channels in the way that these options request.
void check_resized_help(const config::ResizeConfig& resize);

}  // namespace trireme::adapt
