// Finds the targets of a sample: the masked tokens, or the rows of the answer to a question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::data {

// Selects the tokens of a sample to be masked, and chooses their replacements (Devlin et al. 2019, section
// 3.1). The random numbers of a token depend only on the key, the number of the visit and the position in the
// sample. They do not depend on other samples, on padding, or on the tokens.
class Masking {
public:
    // The corpus must have a [MASK] token. `masked_fraction` is the expected fraction of tokens that are
    // masked. Throws ConfigError if the vocabulary has special tokens only.
    Masking(const CorpusInfo& corpus, RandomKey key, double masked_fraction);

    // Returns the masked positions among [1, tokens], ascending; position 0 is [CLS]. At least one position is
    // masked unless `tokens` is 0.
    std::vector<std::size_t> select_positions(std::int64_t visit, std::size_t tokens) const;

    // Returns the input token at a masked position. `token` is the token of the corpus at this position.
    // Returns [MASK] in 8 of 10 cases, a random token that is not special in 1 case, and `token` itself in 1
    // case.
    std::uint32_t choose_replacement(std::int64_t visit, std::size_t position, std::uint32_t token) const;

private:
    RandomBlock draw(std::int64_t visit, std::size_t position) const;
    std::uint32_t pick_ordinary_token(std::uint32_t random_bits) const;

    RandomKey key_;
    double masked_fraction_;
    std::uint32_t mask_token_;
    std::uint32_t ordinary_count_;            // number of tokens that are not special
    std::vector<std::uint32_t> special_ids_;  // ascending
};

// The rows of question and context in a sample, where q is the number of tokens of the question and `last` is
// the last row of the sample:
//
//   row     0   1 .. q  q + 1   q + 2 .. last - 1   last
//         [CLS] question [SEP]  context            [SEP]
//
// The end of the context is cut off if the sample is too short for the whole context.
constexpr std::size_t span_special_count = 3;  // [CLS] and two [SEP]

struct SpanRows {
    std::int32_t context_begin = 0;  // the context is rows [context_begin, context_end) of the sample
    std::int32_t context_end = 0;
    std::int32_t answer_first = -1;  // first row of the answer; -1 if a part of the answer is cut off
    std::int32_t answer_last = -1;   // last row of the answer; -1 in the same case

    bool is_answered() const { return answer_first >= 0; }
};

// Returns the rows of context and answer in a sample of `length` rows. Throws BugError if the sample has no
// room for one token of the context.
SpanRows find_span_rows(const Question& question, std::size_t length);

}  // namespace trireme::data
