#include "trireme/data/sample_index.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/random.hpp"

namespace trireme {
namespace {

// The same rows validate whatever the seed of a run, so that losses of different runs can be compared.
bool is_for_validation(std::uint64_t row, double share) {
    constexpr RandomKey key{0x7472697265'6D65ULL};
    return unit_interval(random_block(key, row)[0]) < share;
}

void refuse_long_row(const Corpus& corpus, std::uint64_t row, std::uint64_t predictions, std::size_t limit) {
    throw ConfigError(cat(corpus.info().path, ": row ", row, " has ", predictions, " predictions, more than ",
                          limit, "; use --long split, truncate or drop, or a larger --max-length"));
}

// The samples of one row with that many predictions, appended to `samples`.
void cut_row(const Corpus& corpus, std::uint64_t row, std::uint64_t predictions, const SampleRules& rules,
             std::vector<Sample>& samples) {
    const bool is_long = predictions > rules.max_length;
    if (is_long && rules.long_rows == LongRows::refuse)
        refuse_long_row(corpus, row, predictions, rules.max_length);
    if (is_long && rules.long_rows == LongRows::drop) return;
    const std::uint64_t end = rules.long_rows == LongRows::truncate
                                  ? std::min<std::uint64_t>(predictions, rules.max_length)
                                  : predictions;
    for (std::uint64_t begin = 0; begin < end; begin += rules.max_length) {
        const auto length = std::min<std::uint64_t>(rules.max_length, end - begin);
        samples.push_back({.row = row,
                           .begin = static_cast<std::uint32_t>(begin),
                           .length = static_cast<std::uint32_t>(length)});
    }
}

std::size_t longest(const std::vector<Sample>& samples) {
    std::size_t most = 0;
    for (const Sample& sample : samples) most = std::max<std::size_t>(most, sample.length);
    return most;
}

}  // namespace

SampleIndex index_samples(const Corpus& corpus, const SampleRules& rules) {
    if (rules.append_end && !corpus.info().end_token) {
        throw ConfigError(cat("the tokenizer ", corpus.info().tokenizer_name, " of ", corpus.info().path,
                              " has no end token to put after each row; use --document-end none"));
    }
    SampleIndex index;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) {
        const std::uint64_t tokens = corpus.row_length(row) + (rules.append_end ? 1 : 0);
        if (tokens < 2) continue;  // nothing to predict from
        auto& part = is_for_validation(row, rules.validation_share) ? index.validation : index.train;
        cut_row(corpus, row, tokens - 1, rules, part);
    }
    if (index.train.empty()) {
        throw ConfigError(cat(corpus.info().path, " leaves no sample to train on: ", corpus.rows(),
                              " rows, --max-length ", rules.max_length, ", --validation-share ",
                              rules.validation_share));
    }
    index.longest = std::max(longest(index.train), longest(index.validation));
    return index;
}

}  // namespace trireme
