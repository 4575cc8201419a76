#include "trireme/data/sample_index.hpp"

#include <algorithm>

#include "data/span_rows.hpp"
#include "data/task_fit.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/random.hpp"

namespace trireme {
namespace {

// The same rows validate whatever the seed of a run, so that losses of different runs can be compared.
bool is_for_validation(std::uint64_t row, double share) {
    constexpr RandomKey key{0x7472697265'6D65ULL};
    return unit_interval(random_block(key, row)[0]) < share;
}

// A row in what is counted of it.
struct RowSize {
    std::uint64_t row = 0;
    std::uint64_t count = 0;
    std::size_t limit = 0;       // of a sample
    std::size_t specials = 0;    // rows beside it in every sample
    const char* what = nullptr;  // "predictions"
};

[[noreturn]] void refuse_long_row(const Corpus& corpus, const RowSize& size, const char* choices) {
    const std::string beside =
        size.specials == 0 ? "" : cat(" (--max-length less ", size.specials, " special tokens)");
    throw ConfigError(cat(corpus.info().path, ": row ", size.row, " has ", size.count, ' ', size.what,
                          ", more than ", size.limit, beside, "; use --long ", choices,
                          ", or a larger --max-length"));
}

// The samples of one row, appended to `samples`.
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
    if (tokens < 2) return;  // nothing to predict from
    cut_row(corpus, {.row = row, .count = tokens - 1, .limit = rules.max_length, .what = "predictions"},
            rules.long_rows, samples);
}

// Between [CLS] and [SEP].
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

// None where the question leaves no room for its context, or where the row is too long and not to be cut.
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

}  // namespace trireme
