#include "tools/plan/forecast_costs.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/model/model.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/energy_clocks.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/model_flops.hpp"
#include "trireme/setup/stage_costs.hpp"
#include "trireme/setup/step_bytes.hpp"
#include "trireme/setup/step_costs.hpp"
#include "trireme/setup/step_predictor.hpp"

namespace trireme::tools {
namespace {

// Returns the cost in GFLOP of a whole layer for one micro-batch. A matmul with weights costs the same in the
// forward pass, for the gradient of its input, and for the gradient of its weights. Attention also has two
// matmuls without weights per sample (Q by K, and scores by V). Each of them has two gradient matmuls, for its
// two operands. Both operands are activations, so all four gradient matmuls belong to backward_input.
schedule::StageCost count_layer_cost(const model::Layer& layer, const model::ModelConfig& model,
                                     const stage::BatchShape& microbatch) {
    constexpr double gflop_per_flop = 1e-9;
    double square_length_sum = 0;
    for (const kernels::Segment& segment : microbatch.segments)
        square_length_sum += static_cast<double>(segment.length) * static_cast<double>(segment.length);
    const double weight_gflop = gflop_per_flop * 2 *
                                static_cast<double>(setup::count_matmul_parameters(layer, model)) *
                                static_cast<double>(microbatch.rows);
    const bool is_attention = std::holds_alternative<model::AttentionHalf>(layer);
    const double attention_gflop =
        is_attention ? gflop_per_flop * 4 * static_cast<double>(model.width) * square_length_sum : 0;
    return {.forward = weight_gflop + attention_gflop,
            .backward_input = weight_gflop + 2 * attention_gflop,
            .backward_weight = weight_gflop};
}

// Returns, per stage, the GFLOP of one rank for one micro-batch. The rank belongs to the smallest replica of
// the stage, and shares are assumed to be even. Messages and updates cost nothing. The cost of attention
// includes the pairs of tokens that a causal mask hides, as the MFU does.
std::vector<schedule::StageCost> count_costs(const model::ModelConfig& model, const layout::Layout& layout,
                                             const stage::BatchShape& microbatch) {
    const std::vector<model::Layer> layers = build_layers(model);
    std::vector<schedule::StageCost> costs;
    for (const layout::StageLayout& stage : layout.stages) {
        std::size_t min_ranks = stage.replicas.front().ranks.size();
        for (const layout::ReplicaLayout& replica : stage.replicas)
            min_ranks = std::min(min_ranks, replica.ranks.size());
        const double rank_fraction = 1 / static_cast<double>(min_ranks);
        schedule::StageCost stage_cost{.forward = 0, .backward_input = 0, .backward_weight = 0};
        for (std::size_t layer = stage.layers.begin; layer < stage.layers.end(); ++layer) {
            const schedule::StageCost layer_cost = count_layer_cost(layers[layer], model, microbatch);
            stage_cost.forward += rank_fraction * layer_cost.forward;
            stage_cost.backward_input += rank_fraction * layer_cost.backward_input;
            stage_cost.backward_weight += rank_fraction * layer_cost.backward_weight;
        }
        costs.push_back(stage_cost);
    }
    return costs;
}

// Returns the mean over the micro-batches of a step, per stage.
std::vector<schedule::StageCost> compute_mean_costs(const schedule::StepCosts& costs, int microbatches) {
    std::vector<schedule::StageCost> means;
    for (int stage = 0; stage < static_cast<int>(costs.stages()); ++stage) {
        schedule::StageCost& mean = means.emplace_back(0, 0, 0);
        for (int m = 0; m < microbatches; ++m) {
            const schedule::StageCost& cost = costs.find(stage, m);
            for (double schedule::StageCost::*field :
                 {&schedule::StageCost::forward, &schedule::StageCost::backward_input,
                  &schedule::StageCost::backward_weight, &schedule::StageCost::send,
                  &schedule::StageCost::reduce, &schedule::StageCost::step})
                mean.*field += cost.*field / microbatches;
        }
    }
    return means;
}

std::vector<StepForecast> forecast_steps(const ForecastInputs& inputs,
                                         const std::vector<schedule::StepCosts>& costs) {
    const plan::ProvedPrograms& training = inputs.plan.training;
    const std::vector<double> seconds = predict_steps(training.phases(), training.shape, costs);
    std::vector<StepForecast> steps;
    for (std::size_t k = 0; k < costs.size(); ++k) {
        StepForecast& step = steps.emplace_back(inputs.steps[k]);
        step.replicas = setup::find_replicas(training.shape);
        step.seconds = seconds[k];
        for (int s = 0; s < static_cast<int>(costs[k].stages()); ++s) {
            std::vector<double>& pass_seconds = step.pass_seconds.emplace_back();
            for (int m = 0; m < training.shape.microbatches; ++m)
                pass_seconds.push_back(costs[k].find(s, m).compute_pass_time());
        }
    }
    return steps;
}

// Sets the order of passes and the clocks of the plan as --energy, --reconfigure and --clock-every request.
void choose_energy(const config::RunConfig& run, int ranks, const schedule::StepCosts& costs,
                   ForecastInputs& inputs, Forecast& forecast) {
    const plan::ProvedPrograms& training = inputs.plan.training;
    if (run.policy.energy != config::Energy::baseline)
        forecast.baseline_step = predict_step(training.phases(), training.shape, costs);
    inputs.plan = setup::choose_energy(inputs.plan, costs,
                                       {.config = run,
                                        .model = inputs.model,
                                        .request = setup::make_plan_request(run),
                                        .ranks = ranks,
                                        .dtype = inputs.dtype,
                                        .largest_microbatches = inputs.largest_microbatches,
                                        .step_levels = inputs.step_levels,
                                        .device_memory = inputs.device_memory});
    setup::PredictedReconfiguration end =
        setup::predict_reconfiguration(std::move(inputs.plan), costs, run.policy);
    inputs.plan = std::move(end.plan);
    forecast.reconfigure_steps = end.steps;
}

}  // namespace

setup::RankClocks find_device_clocks(const config::RunConfig& run, int ranks,
                                     const std::optional<setup::SimulatedDevices>& devices,
                                     ForecastInputs& inputs) {
    if (run.policy.clock_costs == config::swept_clock_costs)
        throw ConfigError(
            "`trireme plan` measures nothing: measure costs by clock with --clock-costs sweep of "
            "`trireme train` or `trireme simulate`, then name their clock_costs.json");
    inputs.clock_costs = setup::read_clock_costs(run);
    std::shared_ptr<const std::vector<std::vector<plan::DeviceClock>>> measured;
    if (inputs.clock_costs) {
        setup::match_replicas(*inputs.clock_costs, inputs.plan, setup::list_devices(devices));
        setup::check_measured_run(*inputs.clock_costs,
                                  setup::describe_measured_run(inputs.model, inputs.dtype, inputs.plan,
                                                               inputs.largest_microbatches.front()));
        measured = std::make_shared<const std::vector<std::vector<plan::DeviceClock>>>(
            setup::list_measured_clocks(*inputs.clock_costs, inputs.plan, ranks));
    }
    return [measured, &devices](int rank) {
        if (devices) return std::span<const plan::DeviceClock>(devices->find_device(rank).clocks);
        return measured ? std::span<const plan::DeviceClock>((*measured)[static_cast<std::size_t>(rank)])
                        : std::span<const plan::DeviceClock>();
    };
}

schedule::StepCosts add_costs(const config::RunConfig& run, int ranks, const setup::RankClocks& find_clocks,
                              ForecastInputs& inputs, Forecast& forecast) {
    if (setup::is_elastic(run) && run.policy.energy != config::Energy::baseline)
        throw ConfigError(
            "--energy sets clocks, but --elastic length compares layouts at their highest clocks; "
            "remove --energy or --elastic");
    setup::check_clocks(inputs.plan, run.policy, find_clocks);
    forecast.counted_costs = count_costs(inputs.model, inputs.plan.layout, inputs.largest_microbatches.front());
    if (inputs.clock_costs) {
        schedule::StepCosts costs =
            setup::make_measured_costs(*inputs.clock_costs, inputs.plan, setup::find_unknown_device);
        forecast.unit = "s";
        forecast.cost_source = cat("measured, from ", inputs.clock_costs->file);
        forecast.costs = compute_mean_costs(costs, inputs.plan.microbatches());
        choose_energy(run, ranks, costs, inputs, forecast);
        return costs;
    }
    const bool has_cluster = !run.costs.cluster.empty();
    const bool has_machine = has_cluster || !run.costs.profiles.empty();
    if (!has_machine || !run.costs.stages.empty()) {
        forecast.costs = setup::expand_cost_option(run.costs, inputs.plan.layout.stages.size());
        schedule::StepCosts costs = setup::make_clocked_costs(forecast.costs, inputs.plan, find_clocks);
        choose_energy(run, ranks, costs, inputs, forecast);
        return costs;
    }
    const auto make_machine = [&] {
        if (has_cluster) return setup::read_machine(run, ranks);
        auto profiles = setup::read_fitting_profiles(run, inputs.model);
        return setup::make_profiled_machine(std::make_shared<const plan::RankProfiles>(std::move(profiles)),
                                            ranks);
    };
    const setup::Machine machine = make_machine();
    forecast.unit = "s";
    forecast.cost_source = machine.description;
    setup::SizedPlan sized_plan(inputs.model, inputs.plan, inputs.dtype, inputs.largest_microbatches,
                                inputs.memory_space);
    sized_plan.step_limits = inputs.step_limits;
    sized_plan.step_levels = inputs.step_levels;
    sized_plan.uses_cache = uses_cache(run.policy);
    const stage::GradientPlan gradients = make_gradient_plan(sized_plan);
    const setup::PricedPlan priced{inputs.model, inputs.plan, inputs.dtype, run.optimizer, gradients};
    setup::StepCostPredictor predictor(priced, machine);
    const auto find_levels = [&](std::size_t step) {
        return inputs.fits.empty() ? std::vector<plan::MicrobatchLevels>{} : inputs.fits[step].levels;
    };
    schedule::StepCosts first_costs = predictor.predict_at_all_clocks(inputs.steps.front(), find_levels(0));
    choose_energy(run, ranks, first_costs, inputs, forecast);
    const bool has_clocks = sets_clocks(inputs.plan.training.phases());
    std::vector<schedule::StepCosts> costs;
    for (std::size_t k = 0; k < inputs.steps.size(); ++k)
        costs.push_back(has_clocks ? predictor.predict_at_all_clocks(inputs.steps[k], find_levels(k))
                                   : predictor.predict(inputs.steps[k], find_levels(k)));
    forecast.costs = compute_mean_costs(costs.front(), inputs.plan.microbatches());
    if (inputs.decisions) {
        forecast.steps = std::move(inputs.followed_steps);
        forecast.decisions = std::move(inputs.decisions);
        forecast.first_stages = inputs.first_stages;
    } else if (!run.data.corpus.empty()) {
        forecast.steps = forecast_steps(inputs, costs);
        setup::StepBytes bytes(sized_plan, run.optimizer, gradients, ranks, run.run.checkpoint_every > 0);
        for (std::size_t k = 0; k < forecast.steps.size(); ++k) {
            StepForecast& step = forecast.steps[k];
            step.memory = inputs.fits[k];
            if (!setup::is_elastic(run))
                step.memory.predicted_bytes = bytes.predict_max_bytes(step.microbatches, step.memory.levels);
        }
    }
    return first_costs;
}

}  // namespace trireme::tools
