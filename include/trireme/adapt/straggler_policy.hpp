// The policy for slow ranks that a run asks for, with what it has to know of the model.
#pragma once

#include "trireme/layout/links.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/policy/sharing.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme {

// `healthy` is the layout for ranks that are equally fast, and `nodes` has the node of each rank. `link` joins
// the ranks of a team; it is not known yet if it has no bandwidth.
Policy straggler_policy(const Job& job, const PlanState& current, const Layout& healthy,
                        const std::vector<int>& nodes, const Link& link);

// What may become uneven beyond the shares of a team, by what a plan's schedule can execute.
bool may_cut_elsewhere(const Plan& plan);
bool may_take_uneven_turns(const Plan& plan);

// Of a step of a team, as the plan has it.
HelpCosts help_costs(const Job& job, const PlanState& current, const Link& link);

}  // namespace trireme
