#include "tools/plan/corpus_inputs.hpp"

#include <algorithm>
#include <utility>

#include "trireme/adapt/decision_forecast.hpp"
#include "trireme/adapt/freeze_forecast.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/step_planner.hpp"
#include "trireme/setup/step_predictor.hpp"

namespace trireme::tools {
namespace {

// Returns inputs without steps.
ForecastInputs make_plan_inputs(const setup::Job& job, const setup::PlanState& state) {
    return {.model = job.model,
            .plan = state.plan,
            .dtype = job.dtype,
            .largest_microbatches = state.largest_microbatches,
            .steps = {},
            .step_limits = state.step_limits,
            .step_levels = state.step_levels,
            .memory_space = job.memory_space,
            .assumption = {}};
}

ForecastInputs make_inputs_of_fixed_plan(const setup::Setup& setup, std::size_t steps) {
    ForecastInputs inputs = make_plan_inputs(setup.job, setup.current);
    setup::StepPlanner planner(setup.job, setup.current);
    for (std::size_t step = 0; step < steps; ++step) {
        std::vector<plan::MicrobatchShape>& shapes = inputs.steps.emplace_back();
        for (const stage::BatchShape& shape : planner.list_shapes(step))
            shapes.push_back(setup::count_shape(shape));
        inputs.fits.push_back(planner.predict_memory(step));
    }
    return inputs;
}

void add_step(adapt::ForecastStep step, ForecastInputs& inputs) {
    setup::PredictedStep& predicted = step.predicted;
    inputs.followed_steps.push_back({.microbatches = std::move(predicted.microbatches),
                                     .replicas = std::move(predicted.replicas),
                                     .pass_seconds = std::move(predicted.pass_seconds),
                                     .seconds = predicted.seconds,
                                     .memory = std::move(predicted.memory),
                                     .elastic = std::move(step.elastic)});
    if (step.change) inputs.decisions->push_back(std::move(*step.change));
}

ForecastInputs make_inputs_of_followed_lengths(setup::Setup setup, int ranks, std::size_t steps) {
    adapt::DecisionForecast forecast(std::move(setup), ranks);
    setup::PlanState shown = forecast.current();
    const std::size_t first_stages = shown.plan.layout.stages.size();
    std::optional<setup::PredictedStep> first =
        setup::StepPredictor(forecast.job(), shown, ranks, /*flops=*/0).try_predict_step(0);
    adapt::ForecastStep step = forecast.advance();
    if (!first) {
        shown = forecast.current();
        first = step.predicted;
    }
    ForecastInputs inputs = make_plan_inputs(forecast.job(), shown);
    inputs.steps.push_back(first->microbatches);
    inputs.fits.push_back(first->memory);
    inputs.decisions.emplace();
    inputs.first_stages = first_stages;
    add_step(std::move(step), inputs);
    while (inputs.followed_steps.size() < steps) add_step(forecast.advance(), inputs);
    return inputs;
}

}  // namespace

// If only --epochs is set, a decision about the first step weighs all steps of the run.
ForecastInputs make_inputs_with_corpus(config::RunConfig run, int ranks, std::size_t steps) {
    if (!may_follow_lengths(run.policy) || run.run.steps > 0 || run.data.epochs == 0) run.run.steps = steps;
    setup::Setup setup = setup::set_up_forecast(run, ranks);
    return setup::follows_lengths(setup.job, setup.current.plan)
               ? make_inputs_of_followed_lengths(std::move(setup), ranks, steps)
               : make_inputs_of_fixed_plan(setup,
                                           std::min(steps, adapt::count_first_steps(setup.job, setup.current)));
}

}  // namespace trireme::tools
