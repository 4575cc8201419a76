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

// The inputs of a forecast.
struct ForecastInputs {
    model::ModelConfig model;
    plan::Plan plan;
    device::DType dtype = device::DType::f32;
    // The largest micro-batch of a training step. With a corpus, also the largest one of an evaluation.
    std::vector<stage::BatchShape> largest_microbatches;
    std::string assumption;  // see Forecast
};

// Returns the shape of the largest micro-batch of a step if all samples have the maximum length. Throws
// ConfigError if --batch or --max-length is too large.
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
    const std::string samples_text = cat("micro-batches of ", samples, samples == 1 ? " sample" : " samples");
    if (model.reads_images()) return samples_text;
    return cat(samples_text, " of ", format_with_commas(shape.segments.front().length), " tokens, vocabulary ",
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
    run.run.steps = 1;  // the number of steps does not change the forecast
    setup::Setup setup = setup::set_up(run, ranks);
    return {.model = std::move(setup.job.model),
            .plan = std::move(setup.current.plan),
            .dtype = setup.job.dtype,
            .largest_microbatches = std::move(setup.current.largest_microbatches),
            .assumption = {}};
}

// Sets the members `profiles`, `costs` and `counted_costs` of the forecast.
void add_costs(const config::RunConfig& run, const ForecastInputs& inputs, Forecast& forecast) {
    if (setup::uses_profile(run.costs)) forecast.profiles = setup::read_fitting_profiles(run, inputs.model);
    forecast.costs = setup::compute_costs(run, inputs.model, inputs.plan);
    forecast.counted_costs = count_costs(inputs.model, inputs.plan.layout, inputs.largest_microbatches.front());
}

// Returns the number of ranks of the job: --ranks with --partition pipedream, otherwise the number of ranks
// that the layout requires.
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

// Compares the memory of each rank with that of its device. The description is about the fullest rank, which
// uses the largest fraction of its device's memory. If this rank fits, all ranks fit.
MemoryFit compare_with_devices(const setup::SimulatedDevices& devices,
                               const std::vector<setup::RankMemory>& memory) {
    int fullest_rank = 0;
    double max_fraction = 0;
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
        const setup::SimulatedDevice& device = devices.find_device(static_cast<int>(rank));
        const double fraction = static_cast<double>(memory[rank].total()) / static_cast<double>(device.memory);
        if (fraction <= max_fraction) continue;
        max_fraction = fraction;
        fullest_rank = static_cast<int>(rank);
    }
    const std::size_t bytes = memory[static_cast<std::size_t>(fullest_rank)].total();
    const std::string complaint = explain_lack_of_device_memory(devices, fullest_rank, bytes);
    if (!complaint.empty()) return {.fits = false, .description = complaint};
    const setup::SimulatedDevice& device = devices.find_device(fullest_rank);
    return {.fits = true,
            .description = cat(format_bytes(device.memory), " of ", device.name, ": ", format_bytes(bytes),
                               " on rank ", fullest_rank, ", the fullest")};
}

// Predicts one step. If steps overlap, predicts enough steps to show how the pipeline fills, runs full and
// drains.
schedule::Prediction predict_timeline(const plan::ProvedPrograms& training,
                                      const std::vector<schedule::StageCost>& costs) {
    schedule::PipelineShape shape = training.shape;
    // Enough micro-batches to fill the pipeline, to keep it full for a step, and to drain it.
    const int shown_microbatches = 2 * shape.stages() + shape.microbatches;
    shape.steps = training.look_ahead == 0 ? 1 : std::max(2, shown_microbatches / shape.microbatches);
    return predict(unroll(training.phases(), training.shape, shape.steps), shape, costs);
}

}  // namespace

Forecast make_forecast(const PlanConfig& config) {
    const int ranks = count_ranks(config);
    config::RunConfig run = config.run;
    // bf16 runs on GPUs only, but a forecast of such a run needs no GPU.
    const bool needs_gpus = run.precision.dtype == config::Precision::bf16;
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
