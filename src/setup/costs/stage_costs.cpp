#include "trireme/setup/stage_costs.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/plan/measured_costs.hpp"
#include "trireme/setup/measured_layout.hpp"

namespace trireme::setup {
namespace {

// Makes a plan with the costs of the profiles, with split backward passes wherever they are allowed.
plan::Plan made_for(const plan::RankProfiles& profiles, plan::PlanWish wish, std::vector<bool> may_split) {
    const plan::Plan outline = plan_without_programs(wish);
    std::vector<bool> in_halves = may_split;
    for (std::size_t s = 0; s < in_halves.size(); ++s) {
        if (outline.recompute[s] == plan::Recompute::full) in_halves[s] = false;
    }
    wish.may_split = std::move(may_split);
    wish.costs = measured_costs(profiles, outline, in_halves);
    return make_plan(wish);
}

double seconds_of(const plan::Plan& plan, const plan::RankProfiles& profiles) {
    return predict_step(plan.training.phases(), plan.training.shape, measured_costs(profiles, plan)).seconds;
}

}  // namespace

bool are_measured(const config::CostConfig& costs) { return costs.stages.empty() && !costs.profiles.empty(); }

std::vector<schedule::StageCost> given_costs(const config::CostConfig& costs, std::size_t stages) {
    const std::vector<schedule::StageCost>& given = costs.stages;
    if (given.empty()) return std::vector<schedule::StageCost>(stages);
    if (given.size() == 1) return std::vector<schedule::StageCost>(stages, given.front());
    if (given.size() == stages) return given;
    throw ConfigError(cat("--cost is given for ", given.size(), " stages, but the layout has ", stages,
                          "; give it once for all stages, or once for each"));
}

std::vector<schedule::StageCost> costs_of(const config::RunConfig& config, const model::ModelConfig& model,
                                          const plan::Plan& plan) {
    if (are_measured(config.costs)) return measured_costs(profiles_for(config, model), plan);
    return given_costs(config.costs, plan.layout.stages.size());
}

plan::Plan searched_plan(const config::RunConfig& config, const model::ModelConfig& model,
                         plan::PlanWish wish) {
    const std::size_t stages = wish.layout.stages.size();
    if (!are_measured(config.costs)) {
        wish.costs = given_costs(config.costs, stages);
        return make_plan(wish);
    }
    const plan::RankProfiles profiles = profiles_for(config, model);
    const std::vector<bool> nowhere(stages, false);
    const std::vector<bool> wherever =
        wish.may_split.empty() ? std::vector<bool>(stages, true) : wish.may_split;
    plan::Plan whole = made_for(profiles, wish, nowhere);
    if (wherever == nowhere) return whole;
    plan::Plan divided = made_for(profiles, std::move(wish), wherever);
    return seconds_of(divided, profiles) < seconds_of(whole, profiles) ? divided : whole;
}

}  // namespace trireme::setup
