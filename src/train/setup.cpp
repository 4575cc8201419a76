#include "train/setup.hpp"

#include <algorithm>
#include <cmath>

#include "train/model_choice.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

SampleRules sample_rules(const RunConfig& config, const ModelConfig& model) {
    const DataConfig& data = config.data;
    if (data.max_length > model.positions) {
        throw ConfigError(cat("--max-length ", data.max_length, " is beyond the ", model.positions,
                              " positions of the model; lower it or raise --positions"));
    }
    return {.task = model.task,
            .max_length = data.max_length == 0 ? model.positions : data.max_length,
            .long_rows = data.long_rows,
            .append_end = data.document_end,
            .validation_share = data.validation_share,
            .image_rows = model.reads_images() ? model.positions : 0};
}

// What is hidden from a model in an evaluation does not depend on the run, so that losses can be compared.
BatchRules batch_rules(const RunConfig& config, const ModelConfig& model, RandomKey mask_key) {
    return {.task = model.task,
            .mask_key = mask_key,
            .mask_share = config.task.mask_share,
            .patch = model.reads_images() ? model.image.patch : 0};
}

std::size_t count_replicas(const LayoutConfig& layout, int ranks) {
    if (layout.data != 0 && layout.data != ranks) {
        throw ConfigError(cat("the layout needs ", layout.data, " ranks (--data ", layout.data,
                              ") but MPI started ", ranks, "; change --data or the rank count"));
    }
    return static_cast<std::size_t>(ranks);
}

std::size_t count_steps(const RunConfig& config, std::size_t samples) {
    if (config.run.steps > 0) return config.run.steps;
    const double visits = config.data.epochs * static_cast<double>(samples);
    const double steps = std::ceil(visits / static_cast<double>(config.run.batch));
    constexpr double most_steps = 1e15;  // counted exactly in double
    if (!(steps >= 1 && steps <= most_steps)) {
        throw ConfigError(cat("--epochs ", config.data.epochs, " of ", samples, " samples, ", config.run.batch,
                              " a step, are ", steps, " steps; set --steps or --epochs to what can be done"));
    }
    return static_cast<std::size_t>(steps);
}

// The micro-batch with the most rows: the longest samples together, each as long as its policy makes it. One
// that spans the border of two epochs may hold a sample twice, and more often where the corpus is small.
BatchShape largest_micro_batch(const SampleIndex& index, std::size_t count, LengthPolicy policy) {
    std::vector<std::size_t> lengths;
    for (const Sample& sample : index.train) lengths.push_back(sample.length);
    for (const Sample& sample : index.validation) lengths.push_back(sample.length);
    std::sort(lengths.rbegin(), lengths.rend());
    const std::size_t per_epoch = std::max<std::size_t>(1, index.train.size());
    const std::size_t epochs_met = 1 + (count + per_epoch - 2) / per_epoch;
    BatchShape shape;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t packed = lengths[std::min(i / epochs_met, lengths.size() - 1)];
        const std::size_t length = policy == LengthPolicy::pack ? packed : lengths.front();
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += length;
    }
    return shape;
}

void check_evaluation(const RunConfig& config, const SampleIndex& samples) {
    if (config.run.eval_every > 0 && samples.validation.empty()) {
        throw ConfigError(cat("--eval-every ", config.run.eval_every,
                              " has nothing to evaluate: --validation-share ", config.data.validation_share,
                              " leaves no row of the corpus; raise it"));
    }
}

void check_batch(const RunConfig& config, std::size_t replicas) {
    constexpr std::size_t most_samples = std::size_t{1} << 24;
    if (config.run.batch > most_samples) {
        throw ConfigError(cat("--batch ", config.run.batch, " is beyond ", most_samples, " samples a step"));
    }
    const std::size_t parts = replicas * config.schedule.microbatches;
    if (config.run.batch < parts) {
        throw ConfigError(cat("--batch ", config.run.batch, " is smaller than ", parts, " micro-batches (",
                              replicas, " replicas x --microbatches ", config.schedule.microbatches,
                              "); each needs at least one sample"));
    }
}

// What training and evaluation have in common.
Setup set_up_model_and_data(const RunConfig& config, int ranks) {
    const std::size_t replicas = count_replicas(config.layout, ranks);
    check_batch(config, replicas);
    Corpus corpus = Corpus::open(config.data.corpus);
    std::optional<StoredModel> stored = stored_model(config.model);
    const ModelConfig model =
        choose_model(config.model, config.task.task, stored ? &*stored : nullptr, corpus.info());
    if (stored) check_fit(*stored, unique_parameters(build_layers(model)));
    std::optional<Tokenizer> tokenizer;
    if (!model.reads_images()) tokenizer = corpus.tokenizer();
    SampleIndex samples = index_samples(corpus, sample_rules(config, model));
    const std::size_t parts = replicas * config.schedule.microbatches;
    const std::size_t micro_batch_samples = (config.run.batch + parts - 1) / parts;
    return {.model = model,
            .stored = std::move(stored),
            .corpus = std::move(corpus),
            .tokenizer = std::move(tokenizer),
            .samples = samples,
            .train_rules = batch_rules(config, model, RandomKey{config.run.seed}.then("mask")),
            .validation_rules = batch_rules(config, model, RandomKey{}.then("mask")),
            .length = config.schedule.length,
            .dtype = config.precision.dtype == Precision::f64 ? DType::f64 : DType::f32,
            .replicas = replicas,
            .micro_batches = config.schedule.microbatches,
            .micro_batch_samples = micro_batch_samples,
            .largest = largest_micro_batch(samples, micro_batch_samples, config.schedule.length)};
}

}  // namespace

Setup set_up(const RunConfig& config, int ranks) {
    check_optimizer(config.optimizer);
    Setup setup = set_up_model_and_data(config, ranks);
    check_evaluation(config, setup.samples);
    setup.steps = count_steps(config, setup.samples.train.size());
    return setup;
}

Setup set_up_evaluation(const EvaluateConfig& config, int ranks) {
    RunConfig run = config.run;
    run.model.init = config.resume;
    if (!config.only_validation) run.data.validation_share = 1;
    Setup setup = set_up_model_and_data(run, ranks);
    if (setup.samples.validation.empty()) {
        throw ConfigError(cat("--validation-share ", run.data.validation_share, " leaves no row of ",
                              run.data.corpus, " to evaluate; raise it, or evaluate --rows all"));
    }
    const LoadReport report = check_fit(*setup.stored, unique_parameters(build_layers(setup.model)));
    if (!report.missing.empty()) {
        throw ConfigError(cat(setup.stored->place(), " was not trained for this task (",
                              name_of(setup.model.task), "): it has no ", report.missing.front(),
                              "; name a corpus of its own kind, or --task"));
    }
    return setup;
}

}  // namespace trireme
