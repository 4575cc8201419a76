#include "trireme/setup/step_predictor.hpp"

#include <algorithm>

#include "trireme/setup/machine.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_bytes.hpp"
#include "trireme/setup/step_costs.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::setup {
struct StepPredictor::State {
    State(const Job& job, PlanState plan_state, int ranks, double flops)
        : steps(job.steps),
          is_elastic(job.config.policy.elastic == config::Elastic::length),
          current(std::move(plan_state)),
          planner(job, current),
          machine(choose_machine(job, ranks, flops)),
          priced(make_priced_plan(job, current)),
          costs(priced, machine),
          bytes({job, current}, job.config.optimizer, current.gradients, ranks,
                job.config.run.checkpoint_every > 0) {}

    std::vector<plan::MicrobatchShape> count_shapes(std::size_t step) {
        std::vector<plan::MicrobatchShape> shapes;
        for (const stage::BatchShape& shape : planner.list_shapes(step)) shapes.push_back(count_shape(shape));
        return shapes;
    }

    std::size_t steps;
    bool is_elastic;
    PlanState current;
    StepPlanner planner;
    Machine machine;
    PricedPlan priced;
    StepCostPredictor costs;
    StepBytes bytes;
};

StepPredictor::StepPredictor(const Job& job, const PlanState& current, int ranks, double flops)
    : state_(std::make_unique<State>(job, current, ranks, flops)) {}
StepPredictor::~StepPredictor() = default;

// The time of a step depends on its neighbours only if steps overlap.
double StepPredictor::predict_seconds(std::size_t step) {
    const plan::ProvedPrograms& training = state_->current.plan.training;
    const auto neighbours =
        training.are_steps_independent() ? std::size_t{0} : static_cast<std::size_t>(training.look_ahead) + 1;
    const std::size_t first = step - std::min(step, neighbours);
    const std::size_t last = std::min(step + neighbours, std::max(step + 1, state_->steps) - 1);
    std::vector<schedule::StepCosts> costs;
    for (std::size_t each = first; each <= last; ++each)
        costs.push_back(
            state_->costs.predict(state_->count_shapes(each), state_->planner.plan_step(each).fit.levels));
    return predict_steps(training.phases(), training.shape, costs)[step - first] +
           state_->planner.plan_step(step).fit.offload_seconds;
}

StepFit StepPredictor::predict_memory(std::size_t step) {
    StepFit fit = state_->planner.plan_step(step).fit;
    if (!state_->is_elastic)
        fit.predicted_bytes = state_->bytes.predict_max_bytes(state_->count_shapes(step), fit.levels);
    return fit;
}

}  // namespace trireme::setup
