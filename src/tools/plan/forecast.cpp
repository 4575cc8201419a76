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
// its input, and for the gradient of its weights. Attention also has two matmuls per sample that multiply
// activations by activations. The four gradient matmuls of these two all belong to the backward pass for the
// input.
schedule::StageCost count_layer_cost(const model::Layer& layer, const model::ModelConfig& model,
                                     const stage::BatchShape& microbatch) {
    constexpr double gflop_per_flop = 1e-9;
    double squared_lengths = 0;
    for (const kernels::Segment& segment : microbatch.segments)
        squared_lengths += static_cast<double>(segment.length) * static_cast<double>(segment.length);
    const double weights = gflop_per_flop * 2 *
                           static_cast<double>(setup::count_matmul_parameters(layer, model)) *
                           static_cast<double>(microbatch.rows);
    const bool is_attention = std::holds_alternative<model::AttentionHalf>(layer);
    const double scores =
        is_attention ? gflop_per_flop * 4 * static_cast<double>(model.width) * squared_lengths : 0;
    return {.forward = weights + scores, .backward_input = weights + 2 * scores, .backward_weight = weights};
}

// Returns the cost in GFLOP of each stage for the micro-batch, on a rank of the replica with the fewest ranks,
// with even shares. Messages and updates cost nothing. The cost of attention includes the scores that a causal
// mask hides, as in the MFU.
std::vector<schedule::StageCost> count_costs(const model::ModelConfig& model, const layout::Layout& layout,
                                             const stage::BatchShape& microbatch) {
    const std::vector<model::Layer> layers = build_layers(model);
    std::vector<schedule::StageCost> costs;
    for (const layout::StageLayout& stage : layout.stages) {
        std::size_t ranks = stage.replicas.front().ranks.size();
        for (const layout::ReplicaLayout& replica : stage.replicas)
            ranks = std::min(ranks, replica.ranks.size());
        const double fraction = 1 / static_cast<double>(ranks);
        schedule::StageCost sum{.forward = 0, .backward_input = 0, .backward_weight = 0};
        for (std::size_t l = stage.layers.begin; l < stage.layers.end(); ++l) {
            const schedule::StageCost cost = count_layer_cost(layers[l], model, microbatch);
            sum.forward += fraction * cost.forward;
            sum.backward_input += fraction * cost.backward_input;
            sum.backward_weight += fraction * cost.backward_weight;
        }
        costs.push_back(sum);
    }
    return costs;
}

// The inputs of a forecast.
struct ForecastInputs {
    model::ModelConfig model;
    plan::Plan plan;
    device::DType dtype = device::DType::f32;
    std::vector<stage::BatchShape> largest_microbatches;  // of training and, with a corpus, of an evaluation
    std::string assumption;                               // see Forecast
};

// Returns a micro-batch with samples of the maximum length. Their number is that of the samples of a step
// divided by the number of micro-batches, rounded up.
stage::BatchShape make_assumed_microbatch(const config::RunConfig& run, const model::ModelConfig& model,
                                          const plan::Plan& plan) {
    setup::check_batch_size(run);
    const std::size_t length =
        model.reads_images() ? model.positions : setup::compute_max_sample_length(run, model);
    const auto microbatches = static_cast<std::size_t>(plan.microbatches());
    const std::size_t samples = (run.run.batch + microbatches - 1) / microbatches;
    stage::BatchShape shape;
    for (std::size_t s = 0; s < samples; ++s) {
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += length;
    }
    return shape;
}

std::string describe_assumed_batch(const model::ModelConfig& model, const stage::BatchShape& shape) {
    const std::size_t samples = shape.segments.size();
    const std::string all = cat("micro-batches of ", samples, samples == 1 ? " sample" : " samples");
    if (model.reads_images()) return all;
    return cat(all, " of ", format_with_commas(shape.segments.front().length), " tokens, vocabulary ",
               format_with_commas(model.vocabulary));
}

ForecastInputs make_inputs_without_corpus(const config::RunConfig& run, int ranks) {
    check_optimizer(run.optimizer);
    const std::optional<checkpoint::StoredModel> stored = setup::open_stored_model(run.model.init);
    ForecastInputs inputs{.model = setup::choose_model(run.model, run.task.task, stored ? &*stored : nullptr),
                          .plan = {},
                          .dtype = setup::to_dtype(run.precision.dtype),
                          .largest_microbatches = {},
                          .assumption = {}};
    inputs.plan = setup::plan_run(run, inputs.model, ranks);
    check_batch_is_enough(run.run.batch, inputs.plan, setup::make_plan_request(run));
    inputs.largest_microbatches.push_back(make_assumed_microbatch(run, inputs.model, inputs.plan));
    inputs.assumption = describe_assumed_batch(inputs.model, inputs.largest_microbatches.front());
    inputs.plan = setup::fit_to_memory_limit(std::move(inputs.plan),
                                             {.config = run,
                                              .model = inputs.model,
                                              .request = setup::make_plan_request(run),
                                              .ranks = ranks,
                                              .dtype = inputs.dtype,
                                              .largest_microbatches = inputs.largest_microbatches});
    return inputs;
}

ForecastInputs make_inputs_with_corpus(config::RunConfig run, int ranks) {
    run.run.steps = 1;  // the length of the run does not matter here
    setup::Setup setup = setup::set_up(run, ranks);
    return {.model = std::move(setup.job.model),
            .plan = std::move(setup.current.plan),
            .dtype = setup.job.dtype,
            .largest_microbatches = std::move(setup.current.largest_microbatches),
            .assumption = {}};
}

void add_costs(const config::RunConfig& run, const ForecastInputs& inputs, Forecast& forecast) {
    if (setup::uses_profile(run.costs)) forecast.profiles = setup::read_fitting_profiles(run, inputs.model);
    forecast.costs = setup::compute_costs(run, inputs.model, inputs.plan);
    forecast.counted_costs = count_costs(inputs.model, inputs.plan.layout, inputs.largest_microbatches.front());
}

int count_ranks(const PlanConfig& config) {
    if (config.ranks == 0) return setup::count_requested_ranks(config.run);
    if (setup::uses_pipedream_partition(config.run.layout)) return config.ranks;
    throw ConfigError(
        cat("--ranks ", config.ranks,
            " applies to --partition pipedream only; otherwise the grid or the layout file gives the number"));
}

std::vector<std::size_t> count_stage_parameters(const model::ModelConfig& model, const layout::Layout& layout) {
    const std::vector<model::Layer> layers = build_layers(model);
    std::vector<std::size_t> counts;
    for (const layout::StageLayout& stage : layout.stages) {
        const auto begin = layers.begin() + static_cast<std::ptrdiff_t>(stage.layers.begin);
        std::size_t& count = counts.emplace_back(0);
        for (const model::ParameterSpec& spec :
             model::list_unique_parameters({begin, begin + static_cast<std::ptrdiff_t>(stage.layers.count)})) {
            count += spec.size();
        }
    }
    return counts;
}

std::vector<setup::RankMemory> predict_memory(const ForecastInputs& inputs, const config::RunConfig& run,
                                              int ranks) {
    const setup::SizedPlan sized_plan(inputs.model, inputs.plan, inputs.dtype, inputs.largest_microbatches,
                                      setup::find_memory_space(run.precision.device));
    const stage::GradientPlan gradients = make_gradient_plan(sized_plan);
    const bool saves_checkpoints = run.run.checkpoint_every > 0;
    return predict_memory_of_ranks(sized_plan, &run.optimizer, gradients, ranks, saves_checkpoints);
}

// Finds the rank that uses the largest fraction of its device's memory, and says whether this rank fits on its
// device.
MemoryFit compare_with_devices(const setup::SimulatedDevices& devices,
                               const std::vector<setup::RankMemory>& memory) {
    int fullest = 0;
    double max_fraction = 0;  // largest fraction of a device's memory so far
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
        const setup::SimulatedDevice& device = devices.find_device(static_cast<int>(rank));
        const double fraction = static_cast<double>(memory[rank].total()) / static_cast<double>(device.memory);
        if (fraction <= max_fraction) continue;
        max_fraction = fraction;
        fullest = static_cast<int>(rank);
    }
    const std::size_t bytes = memory[static_cast<std::size_t>(fullest)].total();
    const std::string complaint = explain_lack_of_device_memory(devices, fullest, bytes);
    if (!complaint.empty()) return {.fits = false, .description = complaint};
    const setup::SimulatedDevice& device = devices.find_device(fullest);
    return {.fits = true,
            .description = cat(format_bytes(device.memory), " of ", device.name, ": ", format_bytes(bytes),
                               " on rank ", fullest, ", the fullest")};
}

// Predicts one step. If steps overlap, predicts enough steps to show the full pipeline and how it drains.
schedule::Prediction predict_timeline(const plan::ProvedPrograms& training,
                                      const std::vector<schedule::StageCost>& costs) {
    schedule::PipelineShape shape = training.shape;
    const int min_microbatches = 2 * shape.stages() + shape.microbatches;  // to fill and drain the pipeline
    shape.steps = training.look_ahead == 0 ? 1 : std::max(2, min_microbatches / shape.microbatches);
    return predict(unroll(training.phases(), training.shape, shape.steps), shape, costs);
}

}  // namespace

Forecast make_forecast(const PlanConfig& config) {
    const int ranks = count_ranks(config);
    config::RunConfig run = config.run;
    const bool needs_gpus =
        run.precision.dtype == config::Precision::bf16;  // bf16 runs on GPUs only; planning it needs no GPU
    if (needs_gpus && run.precision.device == config::DeviceKind::automatic)
        run.precision.device = config::DeviceKind::cuda;
    setup::fit_default_batch(run, ranks);
    std::optional<setup::SimulatedDevices> devices;
    if (!run.costs.cluster.empty()) devices = setup::read_cluster_devices(run, ranks);
    run.costs.cluster.clear();  // the plan does not depend on the cluster
    ForecastInputs inputs =
        run.data.corpus.empty() ? make_inputs_without_corpus(run, ranks) : make_inputs_with_corpus(run, ranks);
    Forecast forecast;
    add_costs(run, inputs, forecast);
    forecast.step = predict_step(inputs.plan.training.phases(), inputs.plan.training.shape, forecast.costs);
    forecast.timeline = predict_timeline(inputs.plan.training, forecast.costs);
    for (const stage::BatchShape& shape : inputs.largest_microbatches)
        forecast.max_rows = std::max(forecast.max_rows, shape.rows);
    forecast.parameters = count_stage_parameters(inputs.model, inputs.plan.layout);
    forecast.total_parameters = count_parameters(inputs.model);
    forecast.memory = predict_memory(inputs, run, ranks);
    if (devices) forecast.memory_fit = compare_with_devices(*devices, forecast.memory);
    forecast.warning = setup::make_idle_warning(run, inputs.plan, ranks);
    forecast.assumption = std::move(inputs.assumption);
    forecast.decisions_file = run.policy.decisions;
    forecast.model = std::move(inputs.model);
    forecast.plan = std::move(inputs.plan);
    return forecast;
}

}  // namespace trireme::tools
