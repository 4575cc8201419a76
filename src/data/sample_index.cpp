#include "trireme/data/sample_index.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "data/corpus/schema.hpp"
#include "data/targets.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/random.hpp"

namespace trireme::data {
namespace {

constexpr std::size_t framing_special_count = 2;  // [CLS] and [SEP] around a text

std::vector<Task> list_tasks(RowKind kind) {
    switch (kind) {
        case RowKind::text:
            return {Task::language, Task::masked};
        case RowKind::labelled_text:
            return {Task::language, Task::masked, Task::classify};
        case RowKind::question:
            return {Task::language, Task::masked, Task::span};
        case RowKind::image:
            return {Task::classify};
    }
    throw BugError("unknown kind of rows");
}

void check_kind(const CorpusInfo& corpus, Task task) {
    const std::vector<Task> tasks = list_tasks(corpus.kind);
    if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return;
    std::string names;
    for (const Task candidate : tasks) names += cat(names.empty() ? "" : " or ", to_string(candidate));
    throw ConfigError(cat(corpus.path, " holds rows of the kind \"", to_string(corpus.kind),
                          "\", which cannot be used for the task ", to_string(task), "; use --task ", names,
                          ", or another corpus"));
}

std::vector<std::optional<std::uint32_t> SpecialTokens::*> list_needed_specials(Task task) {
    switch (task) {
        case Task::language:
            return {};
        case Task::masked:
            return {&SpecialTokens::classify, &SpecialTokens::separator, &SpecialTokens::mask};
        case Task::span:
        case Task::classify:
            return {&SpecialTokens::classify, &SpecialTokens::separator};
    }
    throw BugError("unknown task");
}

void check_specials(const CorpusInfo& corpus, Task task) {
    const auto needed = list_needed_specials(task);
    std::string missing;
    for (const corpus_schema::SpecialTokenName& name : corpus_schema::special_token_names)
        if (std::find(needed.begin(), needed.end(), name.token) != needed.end() &&
            !(corpus.special_tokens.*name.token))
            missing += cat(missing.empty() ? "" : ", ", name.spelling);
    if (!missing.empty())
        throw ConfigError(cat("the tokenizer ", corpus.tokenizer_name, " of ", corpus.path, " has no token ",
                              missing, ", which the task ", to_string(task),
                              " needs; prepare the corpus with --special-tokens bert"));
}

void check_max_length(const SampleRules& rules) {
    std::size_t specials = 0;
    if (rules.task == Task::span) specials = span_special_count;
    if (rules.task == Task::masked || rules.task == Task::classify) specials = framing_special_count;
    if (rules.max_length <= specials)
        throw ConfigError(cat("--max-length ", rules.max_length, " leaves no space for a token besides the ",
                              specials, " special ones of the task ", to_string(rules.task), "; give at least ",
                              specials + 1));
}

bool can_cut_into_patches(const ImageSize& image, std::size_t patches) {
    for (std::size_t edge = 1; edge <= std::min(image.height, image.width); ++edge)
        if (image.height % edge == 0 && image.width % edge == 0 &&
            (image.height / edge) * (image.width / edge) == patches)
            return true;
    return false;
}

void check_image(const CorpusInfo& corpus, const SampleRules& rules) {
    const ImageSize& image = corpus.image;
    if (rules.image_rows < 2 || !can_cut_into_patches(image, rules.image_rows - 1))
        throw ConfigError(cat(corpus.path, " holds images of ", image.channels, " x ", image.height, " x ",
                              image.width, " pixels, which cannot be cut into square patches for the model's ",
                              rules.image_rows, " rows (a class token and the patches); ",
                              "choose a model with another image size or patch"));
    if (rules.max_length < rules.image_rows)
        throw ConfigError(cat("an image of ", corpus.path, " takes ", rules.image_rows,
                              " rows, more than --max-length ", rules.max_length, "; give at least ",
                              rules.image_rows));
}

// Throws ConfigError unless the corpus fits the task and the model. Checks the kind of the rows, the special
// tokens of the tokenizer, the maximum length, and the size of images.
void check_corpus_fits(const CorpusInfo& corpus, const SampleRules& rules) {
    check_kind(corpus, rules.task);
    if (corpus.kind == RowKind::image) return check_image(corpus, rules);
    if (rules.task == Task::language && rules.append_end_token && !corpus.special_tokens.end_of_text)
        throw ConfigError(cat("the tokenizer ", corpus.tokenizer_name, " of ", corpus.path,
                              " has no end-of-text token to append to each row; use --document-end none"));
    check_specials(corpus, rules.task);
    check_max_length(rules);
}

// Returns true if a row is selected for validation. The selection does not depend on the seed of a run, so that
// validation losses of different runs can be compared.
bool is_for_validation(std::uint64_t row, double fraction) {
    constexpr RandomKey key{0x7472697265'6D65ULL};  // "trireme" in ASCII
    return to_unit_interval(random_block(key, row)[0]) < fraction;
}

// The size of a row, in tokens or predictions, and the limits of its samples.
struct RowSize {
    std::uint64_t row = 0;
    std::uint64_t count = 0;
    std::size_t limit = 0;       // maximum number of tokens or predictions per sample
    std::size_t specials = 0;    // special tokens that every sample has in addition
    const char* unit = nullptr;  // "tokens" or "predictions"
};

// Throws ConfigError. `choices` lists the values of --long that would accept the row.
[[noreturn]] void refuse_long_row(const Corpus& corpus, const RowSize& size, const char* choices) {
    const std::string limit = size.specials == 0
                                  ? cat("--max-length ", size.limit)
                                  : cat(size.limit, " (--max-length ", size.limit + size.specials, " minus ",
                                        size.specials, " special tokens)");
    throw ConfigError(cat(corpus.info().path, ": row ", size.row, " has ", size.count, ' ', size.unit,
                          ", more than ", limit, "; use --long ", choices, ", or a larger --max-length"));
}

// Cuts one row into samples and appends them to `samples`.
void cut_row(const Corpus& corpus, const RowSize& size, LongRows long_rows, std::vector<Sample>& samples) {
    const bool is_long = size.count > size.limit;
    if (is_long && long_rows == LongRows::refuse) refuse_long_row(corpus, size, "split, truncate or drop");
    if (is_long && long_rows == LongRows::drop) return;
    const std::uint64_t end =
        long_rows == LongRows::truncate ? std::min<std::uint64_t>(size.count, size.limit) : size.count;
    for (std::uint64_t begin = 0; begin < end; begin += size.limit) {
        const auto length = std::min<std::uint64_t>(size.limit, end - begin);
        samples.push_back({.row = size.row,
                           .begin = static_cast<std::uint32_t>(begin),
                           .length = static_cast<std::uint32_t>(length + size.specials)});
    }
}

void add_language_samples(const Corpus& corpus, std::uint64_t row, const SampleRules& rules,
                          std::vector<Sample>& samples) {
    const std::uint64_t tokens = corpus.row_length(row) + (rules.append_end_token ? 1 : 0);
    if (tokens < 2) return;  // nothing to predict
    cut_row(corpus, {.row = row, .count = tokens - 1, .limit = rules.max_length, .unit = "predictions"},
            rules.long_rows, samples);
}

// Adds the samples of a row, each framed by [CLS] and [SEP].
void add_framed_samples(const Corpus& corpus, std::uint64_t row, const SampleRules& rules,
                        std::vector<Sample>& samples) {
    // A labelled text makes one sample only: see LongRows.
    const bool truncates = rules.task == Task::classify && rules.long_rows == LongRows::split;
    cut_row(corpus,
            {.row = row,
             .count = corpus.row_length(row),
             .limit = rules.max_length - framing_special_count,
             .specials = framing_special_count,
             .unit = "tokens"},
            truncates ? LongRows::truncate : rules.long_rows, samples);
}

// Returns the sample of a question. Returns nullopt if the question leaves no room for a context, or if the row
// is too long and such rows are dropped.
std::optional<Sample> make_question_sample(const Corpus& corpus, std::uint64_t row, const Question& question,
                                           const SampleRules& rules) {
    const RowSize size{.row = row,
                       .count = corpus.row_length(row),
                       .limit = rules.max_length - span_special_count,
                       .specials = span_special_count,
                       .unit = "tokens"};
    const bool is_long = size.count > size.limit;
    if (is_long && rules.long_rows == LongRows::refuse) refuse_long_row(corpus, size, "truncate or drop");
    if (is_long && rules.long_rows == LongRows::drop) return std::nullopt;
    if (question.context_begin >= size.limit) return std::nullopt;
    const auto tokens = std::min<std::uint64_t>(size.count, size.limit);
    return Sample{.row = row, .begin = 0, .length = static_cast<std::uint32_t>(tokens + span_special_count)};
}

void add_question_sample(const Corpus& corpus, std::uint64_t row, const SampleRules& rules, bool is_validation,
                         SampleIndex& index) {
    const Question question = corpus.find_question_positions(row);
    const std::optional<Sample> sample = make_question_sample(corpus, row, question, rules);
    if (!is_validation) {
        if (sample && find_span_rows(question, sample->length).is_answered()) index.train.push_back(*sample);
    } else if (sample) {
        index.validation.push_back(*sample);
    } else {
        ++index.skipped_questions;
    }
}

void add_samples_of_row(const Corpus& corpus, std::uint64_t row, const SampleRules& rules, SampleIndex& index) {
    const bool is_validation = is_for_validation(row, rules.validation_fraction);
    std::vector<Sample>& samples = is_validation ? index.validation : index.train;
    switch (rules.task) {
        case Task::language:
            return add_language_samples(corpus, row, rules, samples);
        case Task::masked:
            return add_framed_samples(corpus, row, rules, samples);
        case Task::span:
            return add_question_sample(corpus, row, rules, is_validation, index);
        case Task::classify:
            if (corpus.info().kind != RowKind::image) return add_framed_samples(corpus, row, rules, samples);
            samples.push_back({.row = row, .begin = 0, .length = static_cast<std::uint32_t>(rules.image_rows)});
    }
}

void check_not_empty(const Corpus& corpus, const SampleRules& rules, const SampleIndex& index) {
    const bool has_only_validation = rules.validation_fraction >= 1;
    if (!(has_only_validation ? index.validation : index.train).empty()) return;
    throw ConfigError(
        cat(corpus.info().path, " leaves no sample to ", has_only_validation ? "validate" : "train", " on (",
            format_count(corpus.rows(), "row"), ", --max-length ", rules.max_length, ", --validation-share ",
            rules.validation_fraction, "); change these options or use a corpus with more rows"));
}

std::size_t find_max_length(const std::vector<Sample>& samples) {
    std::size_t max_length = 0;
    for (const Sample& sample : samples) max_length = std::max<std::size_t>(max_length, sample.length);
    return max_length;
}

}  // namespace

SampleIndex index_samples(const Corpus& corpus, const SampleRules& rules) {
    check_corpus_fits(corpus.info(), rules);
    SampleIndex index;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) add_samples_of_row(corpus, row, rules, index);
    check_not_empty(corpus, rules, index);
    index.max_length = std::max(find_max_length(index.train), find_max_length(index.validation));
    return index;
}

}  // namespace trireme::data
