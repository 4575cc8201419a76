// The policy for slow ranks that a run asks for, with what it has to know of the model.
#pragma once

#include "trireme/layout/links.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/policy/sharing.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// `healthy` is the layout for ranks that are equally fast, and `nodes` has the node of each rank. `link` joins
// the ranks of a team; it is not known yet if it has no bandwidth.
policy::Policy straggler_policy(const setup::Job& job, const setup::PlanState& current,
                                const layout::Layout& healthy, const std::vector<int>& nodes,
                                const layout::Link& link);

// What may become uneven beyond the shares of a team, by what a plan's schedule can execute.
bool may_cut_elsewhere(const plan::Plan& plan);
bool may_take_uneven_turns(const plan::Plan& plan);

// Of a step of a team, as the plan has it.
policy::HelpCosts help_costs(const setup::Job& job, const setup::PlanState& current, const layout::Link& link);

// Throws ConfigError where --straggler could do nothing with the plan, or not as it is asked to.
void check_straggler(const config::RunConfig& config, const plan::Plan& plan);

// Throws ConfigError where ranks cannot be helped and leave out something so.
void check_resized_help(const config::ResizeConfig& resize);

}  // namespace trireme::adapt
