#include "trireme/data/sample_index.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "data/corpus/schema.hpp"
#include "data/targets.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/random.hpp"

namespace trireme::data {
namespace {

constexpr std::size_t framing_specials = 2;  // [CLS] and [SEP] around a text

std::vector<Task> tasks_of(RowKind kind) {
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
    const std::vector<Task> tasks = tasks_of(corpus.kind);
    if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return;
    std::string names;
    for (const Task served : tasks) names += cat(names.empty() ? "" : ", ", name_of(served));
    throw ConfigError(cat(corpus.path, " holds rows of the kind \"", name_of(corpus.kind),
                          "\", which serve the task ", names, ", not ", name_of(task),
                          "; choose another task, or another corpus"));
}

std::vector<std::optional<std::uint32_t> SpecialTokens::*> needed_specials(Task task) {
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
    const auto needed = needed_specials(task);
    std::string missing;
    for (const corpus_schema::SpecialName& name : corpus_schema::special_names)
        if (std::find(needed.begin(), needed.end(), name.token) != needed.end() &&
            !(corpus.special.*name.token))
            missing += cat(missing.empty() ? "" : ", ", name.spelling);
    if (!missing.empty())
        throw ConfigError(cat("the tokenizer ", corpus.tokenizer_name, " of ", corpus.path, " has no token ",
                              missing, ", which the task ", name_of(task),
                              " needs; prepare the corpus with --special-tokens bert"));
}

void check_room(const SampleRules& rules) {
    std::size_t specials = 0;
    if (rules.task == Task::span) specials = span_specials;
    if (rules.task == Task::masked || rules.task == Task::classify) specials = framing_specials;
    if (rules.max_length <= specials)
        throw ConfigError(cat("--max-length ", rules.max_length, " leaves no room for a token beside the ",
                              specials, " special ones of the task ", name_of(rules.task), "; give at least ",
                              specials + 1));
}

bool makes_patches(const ImageSize& image, std::size_t patches) {
    for (std::size_t edge = 1; edge <= std::min(image.height, image.width); ++edge)
        if (image.height % edge == 0 && image.width % edge == 0 &&
            (image.height / edge) * (image.width / edge) == patches)
            return true;
    return false;
}

void check_image(const CorpusInfo& corpus, const SampleRules& rules) {
    const ImageSize& image = corpus.image;
    if (rules.image_rows < 2 || !makes_patches(image, rules.image_rows - 1))
        throw ConfigError(cat(corpus.path, " holds images of ", image.channels, " x ", image.height, " x ",
                              image.width, " pixels, which no square patches cut into the model's ",
                              rules.image_rows, " rows (a class token and the patches); ",
                              "choose the image size and patch of the model to fit"));
    if (rules.max_length < rules.image_rows)
        throw ConfigError(cat("an image of ", corpus.path, " takes ", rules.image_rows,
                              " rows, more than --max-length ", rules.max_length, "; give at least ",
                              rules.image_rows));
}

// Throws ConfigError if the corpus holds rows of another kind or its tokenizer lacks a special token. It also
// throws if samples leave no room for a token, or if images do not have the model's size.
void check_fit(const CorpusInfo& corpus, const SampleRules& rules) {
    check_kind(corpus, rules.task);
    if (corpus.kind == RowKind::image) return check_image(corpus, rules);
    if (rules.task == Task::language && rules.append_end && !corpus.special.end)
        throw ConfigError(cat("the tokenizer ", corpus.tokenizer_name, " of ", corpus.path,
                              " has no end token to put after each row; use --document-end none"));
    check_specials(corpus, rules.task);
    check_room(rules);
}

// Does not depend on the seed of a run, so that validation losses of different runs can be compared.
bool is_for_validation(std::uint64_t row, double share) {
    constexpr RandomKey key{0x7472697265'6D65ULL};
    return unit_interval(random_block(key, row)[0]) < share;
}

// The countable size of a row and the limits of its samples.
struct RowSize {
    std::uint64_t row = 0;
    std::uint64_t count = 0;
    std::size_t limit = 0;       // maximum `count` per sample
    std::size_t specials = 0;    // additional rows in every sample
    const char* what = nullptr;  // what is counted: "predictions"
};

[[noreturn]] void refuse_long_row(const Corpus& corpus, const RowSize& size, const char* choices) {
    const std::string beside =
        size.specials == 0 ? "" : cat(" (--max-length less ", size.specials, " special tokens)");
    throw ConfigError(cat(corpus.info().path, ": row ", size.row, " has ", size.count, ' ', size.what,
                          ", more than ", size.limit, beside, "; use --long ", choices,
                          ", or a larger --max-length"));
}

// Appends the samples of one row to `samples`.
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

void add_language(const Corpus& corpus, std::uint64_t row, const SampleRules& rules,
                  std::vector<Sample>& samples) {
    const std::uint64_t tokens = corpus.row_length(row) + (rules.append_end ? 1 : 0);
    if (tokens < 2) return;  // nothing to predict
    cut_row(corpus, {.row = row, .count = tokens - 1, .limit = rules.max_length, .what = "predictions"},
            rules.long_rows, samples);
}

// Adds samples between [CLS] and [SEP].
void add_framed(const Corpus& corpus, std::uint64_t row, const SampleRules& rules,
                std::vector<Sample>& samples) {
    const bool cuts_off = rules.task == Task::classify && rules.long_rows == LongRows::split;
    cut_row(corpus,
            {.row = row,
             .count = corpus.row_length(row),
             .limit = rules.max_length - framing_specials,
             .specials = framing_specials,
             .what = "tokens"},
            cuts_off ? LongRows::truncate : rules.long_rows, samples);
}

// Returns nullopt if the question leaves no room for its context, or if the row is too long and may not be cut.
std::optional<Sample> question_sample(const Corpus& corpus, std::uint64_t row, const Question& places,
                                      const SampleRules& rules) {
    const RowSize size{.row = row,
                       .count = corpus.row_length(row),
                       .limit = rules.max_length - span_specials,
                       .specials = span_specials,
                       .what = "tokens"};
    const bool is_long = size.count > size.limit;
    if (is_long && rules.long_rows == LongRows::refuse) refuse_long_row(corpus, size, "truncate or drop");
    if (is_long && rules.long_rows == LongRows::drop) return std::nullopt;
    if (places.context_begin >= size.limit) return std::nullopt;
    const auto tokens = std::min<std::uint64_t>(size.count, size.limit);
    return Sample{.row = row, .begin = 0, .length = static_cast<std::uint32_t>(tokens + span_specials)};
}

void add_question(const Corpus& corpus, std::uint64_t row, const SampleRules& rules, bool validates,
                  SampleIndex& index) {
    const Question places = corpus.places(row);
    const std::optional<Sample> sample = question_sample(corpus, row, places, rules);
    if (!validates) {
        if (sample && span_rows(places, sample->length).is_answered()) index.train.push_back(*sample);
    } else if (sample) {
        index.validation.push_back(*sample);
    } else {
        ++index.left_out;
    }
}

void add_row(const Corpus& corpus, std::uint64_t row, const SampleRules& rules, SampleIndex& index) {
    const bool validates = is_for_validation(row, rules.validation_share);
    std::vector<Sample>& samples = validates ? index.validation : index.train;
    switch (rules.task) {
        case Task::language:
            return add_language(corpus, row, rules, samples);
        case Task::masked:
            return add_framed(corpus, row, rules, samples);
        case Task::span:
            return add_question(corpus, row, rules, validates, index);
        case Task::classify:
            if (corpus.info().kind != RowKind::image) return add_framed(corpus, row, rules, samples);
            samples.push_back({.row = row, .begin = 0, .length = static_cast<std::uint32_t>(rules.image_rows)});
    }
}

void check_not_empty(const Corpus& corpus, const SampleRules& rules, const SampleIndex& index) {
    const bool only_validates = rules.validation_share >= 1;
    if (!(only_validates ? index.validation : index.train).empty()) return;
    throw ConfigError(cat(corpus.info().path, " leaves no sample to ", only_validates ? "validate" : "train",
                          " on: ", corpus.rows(), " rows, --max-length ", rules.max_length,
                          ", --validation-share ", rules.validation_share));
}

std::size_t longest(const std::vector<Sample>& samples) {
    std::size_t most = 0;
    for (const Sample& sample : samples) most = std::max<std::size_t>(most, sample.length);
    return most;
}

}  // namespace

SampleIndex index_samples(const Corpus& corpus, const SampleRules& rules) {
    check_fit(corpus.info(), rules);
    SampleIndex index;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) add_row(corpus, row, rules, index);
    check_not_empty(corpus, rules, index);
    index.longest = std::max(longest(index.train), longest(index.validation));
    return index;
}

}  // namespace trireme::data
