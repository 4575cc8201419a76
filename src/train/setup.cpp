#include "train/setup.hpp"

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

template <class Value>
void override_with(const std::optional<Value>& choice, Value& value) {
    if (choice) value = *choice;
}

ModelConfig choose_model(const ModelChoice& choice) {
    ModelConfig model = model_named(choice.name);
    override_with(choice.layers, model.layers);
    override_with(choice.width, model.width);
    override_with(choice.heads, model.heads);
    override_with(choice.mlp_width, model.mlp_width);
    override_with(choice.positions, model.positions);
    override_with(choice.vocabulary, model.vocabulary);
    override_with(choice.tied, model.tied);
    override_with(choice.dropout, model.dropout);
    const bool follows_width = choice.width && !choice.mlp_width;
    if (follows_width) model.mlp_width = 4 * model.width;
    return model;
}

// A model of a known vocabulary expects the tokenizer it is known with, unless the vocabulary was said.
void fit_vocabulary(ModelConfig& model, const ModelChoice& choice, const CorpusInfo& corpus) {
    if (model.vocabulary == 0) model.vocabulary = corpus.vocabulary_size;
    if (corpus.vocabulary_size > model.vocabulary) {
        throw ConfigError(cat(corpus.path, " has tokens up to ", corpus.vocabulary_size - 1, " (tokenizer ",
                              corpus.tokenizer_name, "), beyond --vocabulary ", model.vocabulary,
                              "; use --vocabulary ", corpus.vocabulary_size, " or prepare the corpus again"));
    }
    if (!choice.vocabulary && corpus.vocabulary_size != model.vocabulary) {
        throw ConfigError(cat(corpus.path, " was made with another tokenizer: ", corpus.tokenizer_name, " of ",
                              corpus.vocabulary_size, " tokens, where ", model.name, " has ", model.vocabulary,
                              "; prepare it with the model's tokenizer, or use --vocabulary ",
                              corpus.vocabulary_size));
    }
}

SampleRules sample_rules(const DataConfig& data, const ModelConfig& model) {
    if (data.max_length > model.positions) {
        throw ConfigError(cat("--max-length ", data.max_length, " is beyond the ", model.positions,
                              " positions of the model; lower it or raise --positions"));
    }
    return {.max_length = data.max_length == 0 ? model.positions : data.max_length,
            .long_rows = data.long_rows,
            .append_end = data.document_end,
            .validation_share = data.validation_share};
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
    const std::size_t epochs_met = 1 + (count + index.train.size() - 2) / index.train.size();
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

}  // namespace

Setup set_up(const RunConfig& config, int ranks) {
    check_optimizer(config.optimizer);
    const std::size_t replicas = count_replicas(config.layout, ranks);
    check_batch(config, replicas);
    ModelConfig model = choose_model(config.model);
    Corpus corpus = Corpus::open(config.data.corpus);
    fit_vocabulary(model, config.model, corpus.info());
    check_model(model);
    SampleIndex samples = index_samples(corpus, sample_rules(config.data, model));
    check_evaluation(config, samples);
    const std::size_t parts = replicas * config.schedule.microbatches;
    const std::size_t micro_batch_samples = (config.run.batch + parts - 1) / parts;
    return {.model = model,
            .corpus = std::move(corpus),
            .samples = samples,
            .dtype = config.precision.dtype == Precision::f64 ? DType::f64 : DType::f32,
            .steps = count_steps(config, samples.train.size()),
            .replicas = replicas,
            .micro_batches = config.schedule.microbatches,
            .micro_batch_samples = micro_batch_samples,
            .largest = largest_micro_batch(samples, micro_batch_samples, config.schedule.length)};
}

}  // namespace trireme
