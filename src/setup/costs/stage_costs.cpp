#include "trireme/setup/stage_costs.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/plan/measured_costs.hpp"
#include "trireme/setup/measured_layout.hpp"

namespace trireme::setup {
namespace {

// Makes a plan with the costs of the profiles. `may_split` has one entry per stage: true if the schedule may
// split the backward passes of the stage. Such a stage has the costs of split passes. A stage with full
// recomputation always keeps whole passes and their costs.
plan::Plan make_plan_with_profiles(const plan::RankProfiles& profiles, plan::PlanWish wish,
                                   std::vector<bool> may_split) {
    const plan::Plan outline = make_plan_without_programs(wish);
    std::vector<bool> splits_backward = may_split;
    for (std::size_t s = 0; s < splits_backward.size(); ++s) {
        if (outline.recompute[s] == plan::Recompute::full) splits_backward[s] = false;
    }
    wish.may_split = std::move(may_split);
    wish.costs = compute_stage_costs(profiles, outline, splits_backward);
    return make_plan(wish);
}

double predict_seconds(const plan::Plan& plan, const plan::RankProfiles& profiles) {
    return predict_step(plan.training.phases(), plan.training.shape, compute_stage_costs(profiles, plan))
        .seconds;
}

}  // namespace

bool uses_profile(const config::CostConfig& costs) { return costs.stages.empty() && !costs.profiles.empty(); }

std::vector<schedule::StageCost> expand_cost_option(const config::CostConfig& costs, std::size_t stages) {
    const std::vector<schedule::StageCost>& cost_list = costs.stages;  // in the order of --cost
    if (cost_list.empty()) return std::vector<schedule::StageCost>(stages);
    if (cost_list.size() == 1) return std::vector<schedule::StageCost>(stages, cost_list.front());
    if (cost_list.size() == stages) return cost_list;
    throw ConfigError(cat("--cost is given for ", cost_list.size(), " stages, but the layout has ", stages,
                          "; give one cost for all stages, or one per stage"));
}

std::vector<schedule::StageCost> compute_costs(const config::RunConfig& config, const model::ModelConfig& model,
                                               const plan::Plan& plan) {
    if (uses_profile(config.costs)) return compute_stage_costs(read_fitting_profiles(config, model), plan);
    return expand_cost_option(config.costs, plan.layout.stages.size());
}

plan::Plan search_plan(const config::RunConfig& config, const model::ModelConfig& model, plan::PlanWish wish) {
    const std::size_t stages = wish.layout.stages.size();
    if (!uses_profile(config.costs)) {
        wish.costs = expand_cost_option(config.costs, stages);
        return make_plan(wish);
    }
    const plan::RankProfiles profiles = read_fitting_profiles(config, model);
    const std::vector<bool> split_nowhere(stages, false);
    const std::vector<bool> split_where_allowed =
        wish.may_split.empty() ? std::vector<bool>(stages, true) : wish.may_split;
    plan::Plan whole_backward = make_plan_with_profiles(profiles, wish, split_nowhere);
    if (split_where_allowed == split_nowhere) return whole_backward;
    plan::Plan split_backward = make_plan_with_profiles(profiles, std::move(wish), split_where_allowed);
    return predict_seconds(split_backward, profiles) < predict_seconds(whole_backward, profiles)
               ? split_backward
               : whole_backward;
}

}  // namespace trireme::setup
