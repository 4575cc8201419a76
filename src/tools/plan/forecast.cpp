#include <algorithm>

#include "tools/plan/corpus_inputs.hpp"
#include "tools/plan/freeze_periods.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/model/config.hpp"
#include "trireme/setup/batch_advice.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/microbatch_sizes.hpp"
#include "trireme/setup/model_choice.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/setup/stage_costs.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::tools {
namespace {

// Returns the shape of a micro-batch whose samples all have the maximum length. Throws ConfigError if
// --max-length is too large.
stage::BatchShape make_assumed_microbatch(const config::RunConfig& run, const model::ModelConfig& model,
                                          std::size_t samples) {
    const std::size_t length =
        model.reads_images() ? model.positions : setup::compute_max_sample_length(run, model);
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
    if (setup::is_elastic(run))
        throw ConfigError("--elastic length depends on the lengths of samples; name their file with --corpus");
    check_optimizer(run.optimizer);
    setup::check_freezing(run);
    const std::optional<checkpoint::StoredModel> stored = setup::open_stored_model(run.model.init);
    ForecastInputs inputs{.model = setup::choose_model(run.model, run.task.task, stored ? &*stored : nullptr),
                          .plan = {},
                          .dtype = setup::to_dtype(run.precision.dtype),
                          .largest_microbatches = {},
                          .steps = {},
                          .memory_space = setup::find_memory_space(run.precision.device),
                          .assumption = {}};
    inputs.plan = setup::plan_run(run, inputs.model, ranks);
    check_batch_is_enough(run, inputs.plan, setup::make_plan_request(run), run.run.batch);
    setup::check_batch_size(run);
    setup::check_forming_by_time(run, inputs.model, inputs.plan);
    inputs.largest_microbatches.push_back(make_assumed_microbatch(
        run, inputs.model, setup::count_microbatch_samples(run.run.batch, inputs.plan)));
    inputs.assumption = describe_assumed_batch(inputs.model, inputs.largest_microbatches.front());
    inputs.plan = setup::fit_to_memory_limit(std::move(inputs.plan),
                                             {.config = run,
                                              .model = inputs.model,
                                              .request = setup::make_plan_request(run),
                                              .ranks = ranks,
                                              .dtype = inputs.dtype,
                                              .largest_microbatches = inputs.largest_microbatches});
    inputs.steps.emplace_back();
    for (const std::vector<plan::SampleVisit>& samples :
         cut_into_microbatches(std::vector<plan::SampleVisit>(run.run.batch),
                               static_cast<std::size_t>(inputs.plan.microbatches())))
        inputs.steps.front().push_back(
            setup::count_shape(make_assumed_microbatch(run, inputs.model, samples.size())));
    return inputs;
}

// Returns the number of ranks of the job: --ranks if it is set, otherwise the number that the layout requires.
int count_ranks(const PlanConfig& config) {
    return config.ranks > 0 ? config.ranks : setup::count_requested_ranks(config.run);
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
    setup::SizedPlan sized_plan(inputs.model, inputs.plan, inputs.dtype, inputs.largest_microbatches,
                                inputs.memory_space);
    sized_plan.step_limits = inputs.step_limits;
    sized_plan.step_levels = inputs.step_levels;
    sized_plan.uses_cache = uses_cache(run.policy);
    const stage::GradientPlan gradients = make_gradient_plan(sized_plan);
    const bool saves_checkpoints = run.run.checkpoint_every > 0;
    return predict_memory_of_ranks(sized_plan, &run.optimizer, gradients, ranks, saves_checkpoints);
}

// Compares the memory that each rank needs with the memory of its device. The description is about the rank
// that uses the largest fraction of its device's memory. If this rank fits, all ranks fit.
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
            .description = cat("rank ", fullest_rank, ", the fullest, needs ", format_bytes(bytes), " of the ",
                               format_bytes(device.memory), " of ", device.name)};
}

// Returns nothing if the clocks of some rank are not known.
std::optional<EnergyForecast> forecast_energy(const plan::Plan& plan, const schedule::StepCosts& costs,
                                              const Forecast& forecast, int ranks,
                                              const setup::RankClocks& find_clocks) {
    if (costs.clocks().empty()) return std::nullopt;
    const plan::ProvedPrograms& training = plan.training;
    const double seconds = forecast.step.seconds;
    const auto sum_all = [&](const std::vector<double>& joules, double step_seconds) {
        return setup::sum_joules(plan, joules, step_seconds, ranks, find_clocks);
    };
    const std::optional<double> joules = sum_all(forecast.step.joules, seconds);
    const std::optional<double> min_joules =
        sum_all(find_min_joules(training.phases(), training.shape, costs, seconds), seconds);
    if (!joules || !min_joules) return std::nullopt;
    EnergyForecast energy{.joules = *joules, .min_joules = *min_joules};
    if (const auto& baseline = forecast.baseline_step)
        energy.baseline_joules = sum_all(baseline->joules, baseline->seconds);
    return energy;
}

// Predicts one step. If steps overlap, predicts enough steps to show how the pipeline fills, runs full and
// drains.
schedule::Prediction predict_timeline(const plan::ProvedPrograms& training, const schedule::StepCosts& costs) {
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
    const bool has_seconds = devices || setup::uses_profile(run.costs);
    const std::size_t steps =
        has_seconds && config.compare.empty() ? std::max<std::size_t>(1, run.run.steps) : 1;
    ForecastInputs inputs = run.data.corpus.empty() ? make_inputs_without_corpus(run, ranks)
                                                    : make_inputs_with_corpus(run, ranks, steps);
    inputs.device_memory = find_device_memory(run, devices, ranks);
    Forecast forecast;
    const setup::RankClocks find_clocks = find_device_clocks(run, ranks, devices, inputs);
    const schedule::StepCosts costs = add_costs(run, ranks, find_clocks, inputs, forecast);
    forecast.step = predict_step(inputs.plan.training.phases(), inputs.plan.training.shape, costs);
    forecast.energy = forecast_energy(inputs.plan, costs, forecast, ranks, find_clocks);
    forecast.timeline = predict_timeline(inputs.plan.training, costs);
    forecast.parameters = count_stage_parameters(inputs.model, inputs.plan.layout);
    forecast.total_parameters = count_parameters(inputs.model);
    forecast.memory = predict_memory(inputs, run, ranks);
    forecast.is_elastic = setup::is_elastic(run);
    if (devices) forecast.memory_fit = compare_with_devices(*devices, forecast.memory);
    forecast.warning = setup::make_idle_warning(run, inputs.plan, ranks);
    forecast.assumption = std::move(inputs.assumption);
    forecast.decisions_file = run.policy.decisions;
    forecast.model = std::move(inputs.model);
    forecast.plan = std::move(inputs.plan);
    forecast.periods = forecast_periods(config, forecast, ranks);
    return forecast;
}

}  // namespace trireme::tools
