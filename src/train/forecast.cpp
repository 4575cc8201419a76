#include <algorithm>

#include "train/model_choice.hpp"
#include "train/number_text.hpp"
#include "train/planning.hpp"
#include "train/rank_memory.hpp"
#include "train/setup.hpp"
#include "trireme/base/error.hpp"
#include "trireme/train/show_plan.hpp"

namespace trireme {
namespace {

// What a plan is made for.
struct Case {
    ModelConfig model;
    Plan plan;
    DType dtype = DType::f32;
    std::vector<BatchShape> largest;  // micro-batches
    std::string assumed;
};

// The samples of a step spread evenly over its micro-batches, each as long as may be.
BatchShape assumed_micro_batch(const RunConfig& run, const ModelConfig& model, const Plan& plan) {
    check_batch_size(run);
    const std::size_t length = model.reads_images() ? model.positions : longest_sample(run, model);
    const auto parts = static_cast<std::size_t>(plan.micro_batches());
    const std::size_t samples = (run.run.batch + parts - 1) / parts;
    BatchShape shape;
    for (std::size_t s = 0; s < samples; ++s) {
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += length;
    }
    return shape;
}

std::string text_of_assumed(const ModelConfig& model, const BatchShape& shape) {
    const std::size_t samples = shape.segments.size();
    const std::string all = cat("micro-batches of ", samples, samples == 1 ? " sample" : " samples");
    if (model.reads_images()) return all;
    return cat(all, " of ", grouped(shape.segments.front().length), " tokens, vocabulary ",
               grouped(model.vocabulary));
}

Case case_without_corpus(const RunConfig& run, int ranks) {
    check_optimizer(run.optimizer);
    const std::optional<StoredModel> stored = stored_model(run.model);
    Case of{.model = choose_model(run.model, run.task.task, stored ? &*stored : nullptr),
            .plan = {},
            .dtype = run.precision.dtype == Precision::f64 ? DType::f64 : DType::f32,
            .largest = {},
            .assumed = {}};
    of.plan = plan_run(run, of.model, ranks);
    of.largest.push_back(assumed_micro_batch(run, of.model, of.plan));
    of.assumed = text_of_assumed(of.model, of.largest.front());
    return of;
}

Case case_with_corpus(RunConfig run, int ranks) {
    run.run.steps = 1;  // how long a run would last is not asked
    Setup setup = set_up(run, ranks);
    return {.model = std::move(setup.model),
            .plan = std::move(setup.plan),
            .dtype = setup.dtype,
            .largest = std::move(setup.largest),
            .assumed = {}};
}

std::vector<StageCost> costs_of_stages(const std::vector<StageCost>& costs, std::size_t stages) {
    if (costs.size() == 1) return std::vector<StageCost>(stages, costs.front());
    if (costs.size() == stages) return costs;
    throw ConfigError(cat("--cost is given for ", costs.size(), " stages, but the layout has ", stages,
                          "; give it once for all stages, or once for each"));
}

std::vector<std::size_t> parameters_of_stages(const ModelConfig& model, const Layout& layout) {
    const std::vector<Layer> layers = build_layers(model);
    std::vector<std::size_t> counts;
    for (const StageLayout& stage : layout.stages) {
        const auto begin = layers.begin() + static_cast<std::ptrdiff_t>(stage.layers.begin);
        std::size_t& count = counts.emplace_back(0);
        for (const ParameterSpec& spec :
             unique_parameters({begin, begin + static_cast<std::ptrdiff_t>(stage.layers.count)})) {
            count += spec.size();
        }
    }
    return counts;
}

std::vector<std::size_t> bytes_of_ranks(const Case& of, const OptimizerConfig& optimizer, int ranks) {
    const SizedPlan sized(of.model, of.plan, of.dtype, of.largest);
    const GradientPlan gradients = gradient_plan(sized);
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < ranks; ++rank) {
        bytes.push_back(plan_memory(sized, &optimizer, gradients, rank).total());
    }
    return bytes;
}

}  // namespace

Forecast foresee(const PlanConfig& config) {
    const RunConfig& run = config.run;
    const int ranks = ranks_for(run);
    Case of = run.data.corpus.empty() ? case_without_corpus(run, ranks) : case_with_corpus(run, ranks);
    const std::size_t stages = of.plan.layout.stages.size();
    Forecast forecast;
    forecast.costs = costs_of_stages(config.costs, stages);
    forecast.prediction = predict(of.plan.training.programs, of.plan.training.shape, forecast.costs);
    forecast.parameters = parameters_of_stages(of.model, of.plan.layout);
    forecast.all_parameters = parameter_count(of.model);
    forecast.peak_bytes = bytes_of_ranks(of, run.optimizer, ranks);
    forecast.assumed = std::move(of.assumed);
    forecast.model = std::move(of.model);
    forecast.plan = std::move(of.plan);
    return forecast;
}

}  // namespace trireme
