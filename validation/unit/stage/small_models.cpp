#include "unit/stage/small_models.hpp"

#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {
namespace {

constexpr std::size_t max_rows = 9;

// Returns integers below `end` for the sample of a visit.
std::vector<std::int32_t> drawn(const char* what, std::int64_t visit, std::size_t count, std::size_t end) {
    const RandomKey key = RandomKey{9}.then(what).then(static_cast<std::uint64_t>(visit));
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<std::int32_t>(random_block(key, i)[0] % end));
    }
    return numbers;
}

// Returns a number in [-1, 1) for an element of a named tensor.
double scattered(const std::string& name, std::size_t element) {
    const RandomBlock block = random_block(RandomKey{5}.then(name), element);
    return 2 * to_unit_interval(block[0]) - 1;
}

TokenSample make_image(const model::ModelConfig& config, std::int64_t visit) {
    const std::size_t values = config.image.count_patches() * config.image.count_patch_values();
    TokenSample sample{.tokens = std::vector<std::int32_t>(config.positions, 0), .visit = visit};
    for (const std::int32_t level : drawn("pixels", visit, values, 256)) {
        sample.pixels.push_back(static_cast<float>(level) / 128 - 1);
    }
    return sample;
}

TokenSample make_text(const model::ModelConfig& config, std::int64_t visit, std::size_t length) {
    return {.tokens = drawn("tokens", visit, length, config.vocabulary),
            .types = drawn("types", visit, length, 2),
            .visit = visit};
}

std::size_t rows_between_predictions(Task task) {
    switch (task) {
        case Task::language:
            return 1;
        case Task::masked:
            return 3;
        case Task::span:
        case Task::classify:
            return max_rows;
    }
    throw BugError("unknown task");
}

}  // namespace

std::vector<SmallModel> list_small_models() {
    return {{"gpt2_tied", model::Family::gpt2, Task::language, true},
            {"gpt2_untied", model::Family::gpt2, Task::language},
            {"llama", model::Family::llama, Task::language},
            {"bert_masked", model::Family::bert, Task::masked, true},
            {"bert_span", model::Family::bert, Task::span},
            {"bert_classify", model::Family::bert, Task::classify},
            {"vit", model::Family::vit, Task::classify}};
}

std::vector<Trial> every_trial() {
    std::vector<Trial> trials;
    for (const SmallModel& model : list_small_models()) {
        trials.push_back({"reference", {.backend = device::ReferenceStream{}}, model});
        trials.push_back({"cpu", {.backend = device::CpuStream{}}, model});
    }
    return trials;
}

model::ModelConfig config_of(const SmallModel& model) {
    model::ModelConfig config{.name = model.name,
                              .family = model.family,
                              .task = model.task,
                              .layers = 2,
                              .width = 8,
                              .heads = 2,
                              .mlp_width = 20,
                              .positions = max_rows,
                              .vocabulary = 13,
                              .labels = 3,
                              .image = {},
                              .rotary = {},
                              .tied = model.tied,
                              .dropout = 0.2,
                              .attention_dropout = 0.2};
    if (model.family != model::Family::gpt2) config.activation = kernels::ActivationKind::gelu;
    if (model.family == model::Family::llama) config.groups = 1;
    if (model.family == model::Family::bert) config.token_types = 2;
    if (model.family == model::Family::vit) {
        config.image = {.channels = 2, .size = 4, .patch = 2};
        config.positions = 5;
        config.vocabulary = 0;
    }
    return config;
}

model::ModelConfig without_dropout(model::ModelConfig config) {
    config.dropout = 0;
    config.attention_dropout = 0;
    return config;
}

void scatter_weights(const WholeModel& stage) {
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        const model::ParameterSpec& spec = stage.parameters()[i];
        std::vector<double> numbers(spec.size());
        for (std::size_t e = 0; e < spec.size(); ++e) {
            numbers[e] = (spec.init == model::Init::ones ? 1 : 0) + 0.5 * scattered(spec.name, e);
        }
        set_numbers(stage.values()[i], numbers);
    }
}

TokenSample make_sample(const model::ModelConfig& config, std::int64_t visit, std::size_t length) {
    TokenSample sample = config.reads_images() ? make_image(config, visit) : make_text(config, visit, length);
    if (config.task == Task::span) {
        sample.answer = {static_cast<std::int32_t>(length / 3), static_cast<std::int32_t>(length / 2)};
        sample.context = {0, static_cast<std::int32_t>(length)};
        return sample;
    }
    for (std::size_t row = 0; row < sample.tokens.size(); row += rows_between_predictions(config.task)) {
        sample.predicted_rows.push_back(static_cast<std::int32_t>(row));
    }
    sample.targets = drawn("targets", visit, sample.predicted_rows.size(),
                           config.has_vocabulary_head() ? config.vocabulary : config.labels);
    return sample;
}

}  // namespace trireme::stage
