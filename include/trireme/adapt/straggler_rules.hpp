// The rules of --straggler, from facts about the model, the plan and the links.
#pragma once

#include "trireme/layout/links.hpp"
#include "trireme/policy/uneven.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// `link` is the link between the ranks of a team; a default Link if no link has been measured yet.
policy::OffloadRules make_offload_rules(const setup::Job& job, const setup::PlanState& current,
                                        const layout::Link& link);
policy::UnevenRules make_uneven_rules(const setup::Job& job, const setup::PlanState& current,
                                      const layout::Link& link);

// True if stage boundaries can move: the plan has several stages, and each team has only one of them.
bool may_move_stage_boundaries(const plan::Plan& plan);
// True if a stage has several replicas, and the schedule can give these replicas different numbers of
// micro-batches.
bool may_take_uneven_turns(const plan::Plan& plan);

// Returns the costs of migrations in a step. Each cost in seconds is the maximum over all teams.
policy::OffloadCosts compute_migration_costs(const setup::Job& job, const setup::PlanState& current,
                                             const layout::Link& link);

// Throws ConfigError if --straggler cannot change anything in the plan, or if its options do not fit the plan.
void check_straggler(const config::RunConfig& config, const plan::Plan& plan);

// Throws ConfigError if these options of resizing do not work for ranks that both prune channels and have
// helper ranks.
void check_resized_migration(const config::ResizeConfig& resize);

}  // namespace trireme::adapt
