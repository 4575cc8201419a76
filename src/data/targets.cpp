#include "data/targets.hpp"

#include <algorithm>

#include "data/corpus/schema.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

std::vector<std::uint32_t> list_special_ids(const SpecialTokens& special) {
    std::vector<std::uint32_t> ids;
    for (const corpus_schema::SpecialTokenName& name : corpus_schema::special_token_names)
        if (const auto& id = special.*name.token) ids.push_back(*id);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace

Masking::Masking(const CorpusInfo& corpus, RandomKey key, double masked_fraction)
    : key_(key),
      masked_fraction_(masked_fraction),
      mask_token_(corpus.special_tokens.mask.value()),
      special_ids_(list_special_ids(corpus.special_tokens)) {
    ordinary_count_ = static_cast<std::uint32_t>(corpus.vocabulary_size - special_ids_.size());
    if (ordinary_count_ == 0)
        throw ConfigError(cat("the vocabulary of ", corpus.path, " has only special tokens (",
                              corpus.vocabulary_size, "); prepare the corpus with another tokenizer"));
}

std::vector<std::size_t> Masking::select_positions(std::int64_t visit, std::size_t tokens) const {
    std::vector<std::size_t> masked_positions;
    std::size_t min_position = 0;
    std::uint32_t min_bits = 0;
    for (std::size_t position = 1; position <= tokens; ++position) {
        const std::uint32_t random_bits = draw(visit, position)[0];
        if (to_unit_interval(random_bits) < masked_fraction_) masked_positions.push_back(position);
        if (min_position == 0 || random_bits < min_bits) {
            min_position = position;
            min_bits = random_bits;
        }
    }
    // If chance selects no token, the token with the smallest random number is masked.
    if (masked_positions.empty() && tokens > 0) masked_positions.push_back(min_position);
    return masked_positions;
}

std::uint32_t Masking::choose_replacement(std::int64_t visit, std::size_t position, std::uint32_t token) const {
    const RandomBlock random_bits = draw(visit, position);
    const double fraction = to_unit_interval(random_bits[1]);
    if (fraction < 0.8) return mask_token_;
    return fraction < 0.9 ? pick_ordinary_token(random_bits[2]) : token;
}

RandomBlock Masking::draw(std::int64_t visit, std::size_t position) const {
    return random_block(key_.then(static_cast<std::uint64_t>(visit)), position);
}

std::uint32_t Masking::pick_ordinary_token(std::uint32_t random_bits) const {
    auto id = static_cast<std::uint32_t>(std::uint64_t{random_bits} * ordinary_count_ >> 32);
    // Skips the special ids, which are ascending.
    for (const std::uint32_t special : special_ids_)
        if (id >= special) ++id;
    return id;
}

SpanRows find_span_rows(const Question& question, std::size_t length) {
    if (length <= question.context_begin + span_special_count)
        throw BugError(cat("a sample of ", length, " rows has no row for the context of a question of ",
                           question.context_begin, " tokens"));
    constexpr std::uint32_t specials_before_context = 2;
    SpanRows rows{.context_begin = static_cast<std::int32_t>(question.context_begin + specials_before_context),
                  .context_end = static_cast<std::int32_t>(length - 1)};
    const std::size_t answer_end = std::size_t{question.answer_last} + specials_before_context + 1;
    if (answer_end <= length - 1) {
        rows.answer_first = static_cast<std::int32_t>(question.answer_first + specials_before_context);
        rows.answer_last = static_cast<std::int32_t>(question.answer_last + specials_before_context);
    }
    return rows;
}

}  // namespace trireme::data
