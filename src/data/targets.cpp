#include "data/targets.hpp"

#include <algorithm>

#include "data/corpus/schema.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

std::vector<std::uint32_t> ascending(const SpecialTokens& special) {
    std::vector<std::uint32_t> ids;
    for (const corpus_schema::SpecialName& name : corpus_schema::special_names)
        if (const auto& id = special.*name.token) ids.push_back(*id);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace

Masking::Masking(const CorpusInfo& corpus, RandomKey key, double share)
    : key_(key), share_(share), mask_(corpus.special.mask.value()), specials_(ascending(corpus.special)) {
    ordinary_ = static_cast<std::uint32_t>(corpus.vocabulary_size - specials_.size());
    if (ordinary_ == 0)
        throw ConfigError(cat(corpus.path, " has a vocabulary of ", corpus.vocabulary_size,
                              " special tokens and no other; prepare it with another tokenizer"));
}

std::vector<std::size_t> Masking::places(std::int64_t visit, std::size_t tokens) const {
    std::vector<std::size_t> hidden;
    std::size_t smallest_at = 0;
    std::uint32_t smallest = 0;
    for (std::size_t place = 1; place <= tokens; ++place) {
        const std::uint32_t word = draw(visit, place)[0];
        if (unit_interval(word) < share_) hidden.push_back(place);
        if (smallest_at == 0 || word < smallest) {
            smallest_at = place;
            smallest = word;
        }
    }
    if (hidden.empty() && tokens > 0) hidden.push_back(smallest_at);
    return hidden;
}

std::uint32_t Masking::shown(std::int64_t visit, std::size_t place, std::uint32_t token) const {
    const RandomBlock words = draw(visit, place);
    const double choice = unit_interval(words[1]);
    if (choice < 0.8) return mask_;
    return choice < 0.9 ? any_token(words[2]) : token;
}

RandomBlock Masking::draw(std::int64_t visit, std::size_t place) const {
    return random_block(key_.then(static_cast<std::uint64_t>(visit)), place);
}

std::uint32_t Masking::any_token(std::uint32_t word) const {
    auto id = static_cast<std::uint32_t>(std::uint64_t{word} * ordinary_ >> 32);
    for (const std::uint32_t special : specials_)
        if (id >= special) ++id;
    return id;
}

SpanRows span_rows(const Question& places, std::size_t length) {
    if (length <= places.context_begin + span_specials)
        throw BugError(cat("a sample of ", length, " rows for a question of ", places.context_begin));
    constexpr std::uint32_t specials_before_context = 2;
    SpanRows rows{.context_begin = static_cast<std::int32_t>(places.context_begin + specials_before_context),
                  .context_end = static_cast<std::int32_t>(length - 1)};
    const std::size_t answer_end = std::size_t{places.answer_last} + specials_before_context + 1;
    if (answer_end <= length - 1) {
        rows.answer_first = static_cast<std::int32_t>(places.answer_first + specials_before_context);
        rows.answer_last = static_cast<std::int32_t>(places.answer_last + specials_before_context);
    }
    return rows;
}

}  // namespace trireme::data
