#include "trireme/setup/stage_costs.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/step_costs.hpp"

namespace trireme::setup {
namespace {

// Predicts the costs of plans from the profiles of one run.
class MeasuredCosts {
public:
    MeasuredCosts(const config::RunConfig& config, const model::ModelConfig& model)
        : config_(config),
          model_(model),
          machine_(make_profiled_machine(
              std::make_shared<const plan::RankProfiles>(read_fitting_profiles(config, model)), 0)) {}

    // Returns, per stage, the costs of the measured micro-batch in the slowest replica of the stage.
    // `splits_backward` has the meaning of PricedPlan::splits_backward. Backups before speculative updates cost
    // nothing, because the search for programs does not price them either.
    std::vector<schedule::StageCost> predict(plan::Plan plan, std::vector<bool> splits_backward = {}) const {
        plan.training.shape.has_speculative_updates = false;
        const device::DType dtype = to_dtype(config_.precision.dtype);
        const std::vector<stage::BatchShape> no_shapes;
        const stage::GradientPlan gradients = make_gradient_plan({model_, plan, dtype, no_shapes});
        const PricedPlan priced{model_, plan, dtype, config_.optimizer, gradients, std::move(splits_backward)};
        StepCostPredictor predictor(priced, machine_);
        const std::vector<plan::MicrobatchShape> microbatches(static_cast<std::size_t>(plan.microbatches()),
                                                              machine_.profiles->kinds.front().microbatch);
        const schedule::StepCosts costs = predictor.predict(microbatches);
        std::vector<schedule::StageCost> slowest;
        for (int stage = 0; stage < static_cast<int>(costs.stages()); ++stage) {
            schedule::StageCost& cost = slowest.emplace_back(costs.find(stage, 0));
            for (int m = 1; m < plan.microbatches(); ++m) raise_to_slower(costs.find(stage, m), cost);
        }
        return slowest;
    }

private:
    // If the passes of `other` together take longer than those of `cost`, copies the times of the forward pass
    // and of both halves of the backward pass. Sets `send`, `reduce` and `step` of `cost` to the larger one of
    // the two values.
    static void raise_to_slower(const schedule::StageCost& other, schedule::StageCost& cost) {
        const schedule::StageCost former = cost;
        if (other.compute_pass_time() > cost.compute_pass_time()) cost = other;
        cost.send = std::max(former.send, other.send);
        cost.reduce = std::max(former.reduce, other.reduce);
        cost.step = std::max(former.step, other.step);
    }

    const config::RunConfig& config_;
    const model::ModelConfig& model_;
    Machine machine_;
};

// Makes a plan with the costs of the profiles. `may_split` has one entry per stage: true if the schedule may
// split the backward passes of the stage. Such a stage has the costs of split passes. A stage with full
// recomputation always keeps whole passes and their costs.
plan::Plan make_plan_with_profiles(const MeasuredCosts& measured, plan::PlanWish wish,
                                   std::vector<bool> may_split) {
    plan::Plan outline = make_plan_without_programs(wish);
    outline.training.shape = make_shape(wish, outline.teams);
    std::vector<bool> splits_backward = may_split;
    for (std::size_t s = 0; s < splits_backward.size(); ++s) {
        if (outline.recompute[s] == plan::Recompute::full) splits_backward[s] = false;
    }
    wish.may_split = std::move(may_split);
    wish.costs = measured.predict(outline, std::move(splits_backward));
    return make_plan(wish);
}

double predict_seconds(const plan::Plan& plan, const MeasuredCosts& measured) {
    return predict_step(plan.training.phases(), plan.training.shape, measured.predict(plan)).seconds;
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
    if (uses_profile(config.costs)) return MeasuredCosts(config, model).predict(plan);
    return expand_cost_option(config.costs, plan.layout.stages.size());
}

plan::Plan search_plan(const config::RunConfig& config, const model::ModelConfig& model, plan::PlanWish wish) {
    const std::size_t stages = wish.layout.stages.size();
    if (!uses_profile(config.costs)) {
        wish.costs = expand_cost_option(config.costs, stages);
        return make_plan(wish);
    }
    const MeasuredCosts measured(config, model);
    const std::vector<bool> split_nowhere(stages, false);
    const std::vector<bool> split_where_allowed =
        wish.may_split.empty() ? std::vector<bool>(stages, true) : wish.may_split;
    plan::Plan whole_backward = make_plan_with_profiles(measured, wish, split_nowhere);
    if (split_where_allowed == split_nowhere) return whole_backward;
    plan::Plan split_backward = make_plan_with_profiles(measured, std::move(wish), split_where_allowed);
    return predict_seconds(split_backward, measured) < predict_seconds(whole_backward, measured)
               ? split_backward
               : whole_backward;
}

}  // namespace trireme::setup
