#include "unit/stage/model_record.hpp"

#include <cstdlib>

#include "trireme/model/config_json.hpp"

namespace trireme::stage {
namespace {

optim::OptimizerConfig read_optimizer(const RecordFile& file) {
    return {.kind = optim::OptimizerKind::adamw,
            .rate = file.number("optimizer/rate"),
            .schedule = optim::RateSchedule::constant,
            .weight_decay = file.number("optimizer/weight_decay"),
            .beta1 = file.number("optimizer/beta1"),
            .beta2 = file.number("optimizer/beta2"),
            .epsilon = file.number("optimizer/epsilon"),
            .clip = file.number("optimizer/clip")};
}

// Cuts an image (channels, size, size) into patches (channels, patch, patch), row by row.
std::vector<float> cut_into_patches(const model::ImageInput& image, const double* pixels) {
    std::vector<float> values;
    const std::size_t across = image.size / image.patch;
    for (std::size_t p = 0; p < image.count_patches(); ++p) {
        for (std::size_t i = 0; i < image.count_patch_values(); ++i) {
            const std::size_t channel = i / (image.patch * image.patch);
            const std::size_t y = p / across * image.patch + i / image.patch % image.patch;
            const std::size_t x = p % across * image.patch + i % image.patch;
            values.push_back(static_cast<float>(pixels[(channel * image.size + y) * image.size + x]));
        }
    }
    return values;
}

// The values of a batch by kind, with all samples one after the other.
struct Columns {
    std::vector<std::int32_t> tokens, types, predicted_rows, targets, answers, contexts;
    std::vector<double> pixels;
};

Columns read_columns(const RecordFile& file) {
    const auto optional = [&](const std::string& name) {
        return file.has(name) ? file.integers(name) : std::vector<std::int32_t>{};
    };
    return {.tokens = optional("batch/tokens"),
            .types = optional("batch/types"),
            .predicted_rows = optional("batch/predicted"),
            .targets = optional("batch/targets"),
            .answers = optional("batch/answers"),
            .contexts = optional("batch/contexts"),
            .pixels = file.has("batch/pixels") ? file.numbers("batch/pixels") : std::vector<double>{}};
}

// `index` counts samples; `begin` and `length` are the rows of the sample among all rows.
TokenSample sample_of(const Columns& all, const model::ImageInput& image, std::size_t index, std::size_t begin,
                      std::size_t length) {
    TokenSample sample{.visit = static_cast<std::int64_t>(index)};
    const auto part = [&](const std::vector<std::int32_t>& values) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
        return std::vector<std::int32_t>(first, first + static_cast<std::ptrdiff_t>(length));
    };
    sample.tokens = all.tokens.empty() ? std::vector<std::int32_t>(length, 0) : part(all.tokens);
    if (!all.types.empty()) sample.types = part(all.types);
    for (std::size_t i = 0; i < all.predicted_rows.size(); ++i) {
        const auto row = static_cast<std::size_t>(all.predicted_rows[i]);
        if (row < begin || row >= begin + length) continue;
        sample.predicted_rows.push_back(static_cast<std::int32_t>(row - begin));
        sample.targets.push_back(all.targets.at(i));
    }
    if (!all.answers.empty()) {
        sample.answer = {all.answers.at(2 * index), all.answers.at(2 * index + 1)};
        sample.context = {all.contexts.at(2 * index), all.contexts.at(2 * index + 1)};
    }
    if (!all.pixels.empty()) {
        sample.pixels =
            cut_into_patches(image, &all.pixels.at(index * image.count_patches() * image.count_patch_values()));
    }
    return sample;
}

std::vector<TokenSample> read_samples(const RecordFile& file, const model::ImageInput& image) {
    const Columns all = read_columns(file);
    std::vector<TokenSample> samples;
    std::size_t row = 0;
    for (const std::int32_t rows : file.integers("batch/lengths")) {
        const auto length = static_cast<std::size_t>(rows);
        samples.push_back(sample_of(all, image, samples.size(), row, length));
        row += length;
    }
    return samples;
}

// `prefix` names the group that holds the pass.
RecordedPass read_pass(const RecordFile& file, const std::string& prefix) {
    return {.label_smoothing = prefix.empty() ? 0 : file.number(cat(prefix, "smoothing")),
            .loss = file.number(cat(prefix, "loss")),
            .gradients = file.all_in(cat(prefix, "gradients")),
            .float32_loss_error = file.number(cat("float32_errors/", prefix, "loss")),
            .float32_gradient_errors = file.all_in(cat("float32_errors/", prefix, "gradients"))};
}

}  // namespace

std::size_t ModelRecord::terms() const {
    std::size_t sum = 0;
    for (const TokenSample& sample : samples) {
        sum += sample.targets.size() + (sample.answer[0] >= 0 ? 1 : 0);
    }
    return sum;
}

std::size_t ModelRecord::outputs() const {
    if (config.task == Task::span) return 2;
    return config.has_vocabulary_head() ? config.vocabulary : config.labels;
}

std::vector<std::string> target_record_names() {
    return {"gpt2_tied",   "gpt2_untied",        "llama_grouped_untied", "llama_stretched_tied",
            "bert_masked", "bert_masked_untied", "bert_classify",        "vit"};
}

std::vector<std::string> answer_record_names() { return {"bert_span"}; }

std::vector<std::string> record_names() {
    std::vector<std::string> names = target_record_names();
    for (const std::string& name : answer_record_names()) names.push_back(name);
    return names;
}

// If the tests run elsewhere than where they were built, TRIREME_RECORDS names the folder of the records.
ModelRecord read_record(const std::string& name) {
    const char* const moved = std::getenv("TRIREME_RECORDS");
    const std::string folder = moved != nullptr ? moved : TRIREME_SOURCE_DIR "/validation/reference";
    const std::string path = cat(folder, "/", name, ".h5");
    const RecordFile file(path);
    ModelRecord record{.config = model::parse_config_json(file.text("config.json"), path),
                       .optimizer = read_optimizer(file),
                       .weights = file.all_in("weights"),
                       .plain = read_pass(file, ""),
                       .logits = file.numbers("logits"),
                       .choices = file.integers("choices"),
                       .losses = file.numbers("losses"),
                       .norms = file.numbers("norms"),
                       .frozen = {.depths = file.integers("frozen/depths"),
                                  .losses = file.numbers("frozen/losses"),
                                  .norms = file.numbers("frozen/norms"),
                                  .float32_losses_error = file.number("float32_errors/frozen/losses"),
                                  .float32_norms_error = file.number("float32_errors/frozen/norms")},
                       .float32_logits_error = file.number("float32_errors/logits"),
                       .float32_losses_error = file.number("float32_errors/losses"),
                       .float32_norms_error = file.number("float32_errors/norms")};
    record.samples = read_samples(file, record.config.image);
    if (file.has("smoothed")) record.smoothed = read_pass(file, "smoothed/");
    return record;
}

}  // namespace trireme::stage
