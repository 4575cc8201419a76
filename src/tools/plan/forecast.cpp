#include <algorithm>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/model/config.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/setup/batch_advice.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/model_choice.hpp"
#include "trireme/setup/model_flops.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/setup/stage_costs.hpp"
#include "trireme/stage/predict.hpp"
#include "trireme/tools/show_plan.hpp"

namespace trireme::tools {
namespace {

// Counts the GFLOP of a layer. A matmul with weights costs the same in the forward pass, for the gradient of
// its input and for that of its weights. Attention has two matmuls per sample between rows of activations.
// Their four gradient matmuls all belong to the gradient of its input.
schedule::StageCost cost_of(const model::Layer& layer, const model::ModelConfig& model,
                            const stage::BatchShape& microbatch) {
    constexpr double giga = 1e-9;
    double squares = 0;
    for (const kernels::Segment& segment : microbatch.segments)
        squares += static_cast<double>(segment.length) * static_cast<double>(segment.length);
    const double weights = giga * 2 * static_cast<double>(setup::multiplying_parameters(layer, model)) *
                           static_cast<double>(microbatch.rows);
    const bool attends = std::holds_alternative<model::AttentionHalf>(layer);
    const double scores = attends ? giga * 4 * static_cast<double>(model.width) * squares : 0;
    return {.forward = weights + scores, .backward_input = weights + 2 * scores, .backward_weight = weights};
}

// Returns the cost of each stage for the micro-batch, on a rank with an even share of the smallest replica.
// Messages and updates cost nothing. Attention counts the whole square of scores, as the MFU does.
std::vector<schedule::StageCost> counted_costs(const model::ModelConfig& model, const layout::Layout& layout,
                                               const stage::BatchShape& microbatch) {
    const std::vector<model::Layer> layers = build_layers(model);
    std::vector<schedule::StageCost> costs;
    for (const layout::StageLayout& stage : layout.stages) {
        std::size_t ranks = stage.replicas.front().ranks.size();
        for (const layout::ReplicaLayout& replica : stage.replicas)
            ranks = std::min(ranks, replica.ranks.size());
        const double share = 1 / static_cast<double>(ranks);
        schedule::StageCost sum{.forward = 0, .backward_input = 0, .backward_weight = 0};
        for (std::size_t l = stage.layers.begin; l < stage.layers.end(); ++l) {
            const schedule::StageCost cost = cost_of(layers[l], model, microbatch);
            sum.forward += share * cost.forward;
            sum.backward_input += share * cost.backward_input;
            sum.backward_weight += share * cost.backward_weight;
        }
        costs.push_back(sum);
    }
    return costs;
}

// The inputs of a forecast.
struct Case {
    model::ModelConfig model;
    plan::Plan plan;
    device::DType dtype = device::DType::f32;
    std::vector<stage::BatchShape> largest;  // micro-batches of the largest shapes
    std::string assumed;
};

// Returns a micro-batch with an even fraction of the samples of a step, each of the maximum length.
stage::BatchShape assumed_microbatch(const config::RunConfig& run, const model::ModelConfig& model,
                                     const plan::Plan& plan) {
    setup::check_batch_size(run);
    const std::size_t length = model.reads_images() ? model.positions : setup::longest_sample(run, model);
    const auto parts = static_cast<std::size_t>(plan.microbatches());
    const std::size_t samples = (run.run.batch + parts - 1) / parts;
    stage::BatchShape shape;
    for (std::size_t s = 0; s < samples; ++s) {
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += length;
    }
    return shape;
}

std::string text_of_assumed(const model::ModelConfig& model, const stage::BatchShape& shape) {
    const std::size_t samples = shape.segments.size();
    const std::string all = cat("micro-batches of ", samples, samples == 1 ? " sample" : " samples");
    if (model.reads_images()) return all;
    return cat(all, " of ", with_commas(shape.segments.front().length), " tokens, vocabulary ",
               with_commas(model.vocabulary));
}

Case case_without_corpus(const config::RunConfig& run, int ranks) {
    check_optimizer(run.optimizer);
    const std::optional<checkpoint::StoredModel> stored = setup::stored_model(run.model.init);
    Case of{.model = setup::choose_model(run.model, run.task.task, stored ? &*stored : nullptr),
            .plan = {},
            .dtype = setup::dtype_of(run.precision.dtype),
            .largest = {},
            .assumed = {}};
    of.plan = setup::plan_run(run, of.model, ranks);
    check_batch_is_enough(run.run.batch, of.plan, setup::plan_request(run));
    of.largest.push_back(assumed_microbatch(run, of.model, of.plan));
    of.assumed = text_of_assumed(of.model, of.largest.front());
    of.plan = setup::within_memory_limit(std::move(of.plan), {.config = run,
                                                              .model = of.model,
                                                              .request = setup::plan_request(run),
                                                              .ranks = ranks,
                                                              .dtype = of.dtype,
                                                              .largest = of.largest});
    return of;
}

Case case_with_corpus(config::RunConfig run, int ranks) {
    run.run.steps = 1;  // the length of the run does not matter here
    setup::Setup setup = setup::set_up(run, ranks);
    return {.model = std::move(setup.job.model),
            .plan = std::move(setup.current.plan),
            .dtype = setup.job.dtype,
            .largest = std::move(setup.current.largest),
            .assumed = {}};
}

void add_costs(const config::RunConfig& run, const Case& of, Forecast& forecast) {
    if (setup::are_measured(run.costs)) forecast.profiles = setup::profiles_for(run, of.model);
    forecast.costs = setup::costs_of(run, of.model, of.plan);
    forecast.counted = counted_costs(of.model, of.plan.layout, of.largest.front());
}

int ranks_of(const PlanConfig& config) {
    if (config.ranks == 0) return setup::ranks_for(config.run);
    if (setup::is_pipedream(config.run.layout)) return config.ranks;
    throw ConfigError(
        cat("--ranks ", config.ranks,
            " applies to --partition pipedream only; otherwise the grid or the layout file gives the number"));
}

std::vector<std::size_t> parameters_of_stages(const model::ModelConfig& model, const layout::Layout& layout) {
    const std::vector<model::Layer> layers = build_layers(model);
    std::vector<std::size_t> counts;
    for (const layout::StageLayout& stage : layout.stages) {
        const auto begin = layers.begin() + static_cast<std::ptrdiff_t>(stage.layers.begin);
        std::size_t& count = counts.emplace_back(0);
        for (const model::ParameterSpec& spec :
             model::unique_parameters({begin, begin + static_cast<std::ptrdiff_t>(stage.layers.count)})) {
            count += spec.size();
        }
    }
    return counts;
}

std::vector<setup::RankMemory> memory_of(const Case& of, const config::RunConfig& run, int ranks) {
    const setup::SizedPlan sized(of.model, of.plan, of.dtype, of.largest,
                                 setup::memory_space_of(run.precision.device));
    const stage::GradientPlan gradients = gradient_plan(sized);
    const bool saves = run.run.checkpoint_every > 0;
    return memory_of_ranks(sized, &run.optimizer, gradients, ranks, saves);
}

// Compares the memory of the rank that uses the largest fraction of its device.
Fit fit_of(const setup::SimulatedDevices& devices, const std::vector<setup::RankMemory>& memory) {
    int fullest = 0;
    double most = 0;  // largest fraction of a device's memory so far
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
        const setup::SimulatedDevice& device = devices.of(static_cast<int>(rank));
        const double share = static_cast<double>(memory[rank].total()) / static_cast<double>(device.memory);
        if (share <= most) continue;
        most = share;
        fullest = static_cast<int>(rank);
    }
    const std::size_t bytes = memory[static_cast<std::size_t>(fullest)].total();
    const std::string lack = lack_of_device_memory(devices, fullest, bytes);
    if (!lack.empty()) return {.fits = false, .words = lack};
    const setup::SimulatedDevice& device = devices.of(fullest);
    return {.fits = true,
            .words = cat(bytes_text(device.memory), " of ", device.name, ": ", bytes_text(bytes), " on rank ",
                         fullest, ", the fullest")};
}

// Predicts one step; if steps overlap, enough steps to show the pipeline full and draining.
schedule::Prediction timeline_of(const plan::ProvedPrograms& training,
                                 const std::vector<schedule::StageCost>& costs) {
    schedule::PipelineShape many = training.shape;
    const int wanted = 2 * many.stages() + many.microbatches;  // number of micro-batches
    many.steps = training.look_ahead == 0 ? 1 : std::max(2, wanted / many.microbatches);
    return predict(unrolled(training.phases(), training.shape, many.steps), many, costs);
}

}  // namespace

Forecast foresee(const PlanConfig& config) {
    const int ranks = ranks_of(config);
    config::RunConfig run = config.run;
    const bool is_of_gpus = run.precision.dtype == config::Precision::bf16;  // planning needs none
    if (is_of_gpus && run.precision.device == config::DeviceKind::automatic)
        run.precision.device = config::DeviceKind::cuda;
    setup::fit_default_batch(run, ranks);
    std::optional<setup::SimulatedDevices> devices;
    if (!run.costs.cluster.empty()) devices = setup::described_devices(run, ranks);
    run.costs.cluster.clear();  // it does not affect the plan
    Case of = run.data.corpus.empty() ? case_without_corpus(run, ranks) : case_with_corpus(run, ranks);
    Forecast forecast;
    add_costs(run, of, forecast);
    forecast.step = predict_step(of.plan.training.phases(), of.plan.training.shape, forecast.costs);
    forecast.timeline = timeline_of(of.plan.training, forecast.costs);
    for (const stage::BatchShape& shape : of.largest) forecast.rows = std::max(forecast.rows, shape.rows);
    forecast.parameters = parameters_of_stages(of.model, of.plan.layout);
    forecast.all_parameters = parameter_count(of.model);
    forecast.memory = memory_of(of, run, ranks);
    if (devices) forecast.fit = fit_of(*devices, forecast.memory);
    forecast.warning = setup::idle_warning(run, of.plan, ranks);
    forecast.assumed = std::move(of.assumed);
    forecast.decisions = run.policy.decisions;
    forecast.model = std::move(of.model);
    forecast.plan = std::move(of.plan);
    return forecast;
}

}  // namespace trireme::tools
